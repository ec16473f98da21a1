"""What is wrong with an archive is said of it; what this host cannot do is not blamed on it."""

from __future__ import annotations

import gzip
import io
import resource
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scheduler.packing import PackingError
from scheduler.services.archives import bundle_from
from tests.factories import NOW, a_user

pytestmark = pytest.mark.django_db
LARGE = 3_000_000


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("data.bin")
        info.size = LARGE
        archive.addfile(info, io.BytesIO(bytes(LARGE)))
    return buffer.getvalue()


@contextmanager
def _no_room_for(size: int) -> Iterator[None]:
    """No file may grow beyond this, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_archive_that_was_cut_is_damaged() -> None:
    with pytest.raises(PackingError, match="damaged"):
        bundle_from(io.BytesIO(_archive()[:-20]), owner=a_user(), now=NOW)


def test_an_archive_whose_sum_is_wrong_is_damaged() -> None:
    plain = bytearray(gzip.compress(bytes(20_000)))
    plain[-6] ^= 1
    with pytest.raises(PackingError, match="damaged"):
        bundle_from(io.BytesIO(bytes(plain)), owner=a_user(), now=NOW)


def test_a_full_disk_is_no_fault_of_the_archive() -> None:
    owner = a_user()
    with pytest.raises(OSError, match="File too large"), _no_room_for(LARGE // 2):
        bundle_from(io.BytesIO(_archive()), owner=owner, now=NOW)
