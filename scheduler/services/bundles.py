"""Files that people upload for their jobs: one archive each, named by its hash, only ever its owner's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from scheduler.core.errors import DocumentError, Problem
from scheduler.models import Bundle, Job
from scheduler.services.stored import kept_by_the_storage
from scheduler.storage import DiffersError, GapError, Key, Kind, append, storage
from workers.refusals import NotFound, Refused

MAX_CHUNK = 1024 * 1024
"""Bytes that one call may bring."""
PAGE_BYTES = 4 * 1024 * 1024
"""Bytes that one call gives out."""


def bundle_of(*, owner: User, sha256: str) -> Bundle:
    """What this owner has uploaded under this hash. Raises NotFound, also where only others have."""
    found = Bundle.objects.filter(owner=owner, sha256=sha256).first()
    if found is None:
        raise NotFound("no files of yours have this hash", code="no_such_bundle")
    return found


def upload(*, owner: User, sha256: str, size: int, offset: int, data: bytes, now: datetime) -> Bundle:
    """Append a part; the bundle is complete once all of it is here and has this hash.

    The same bytes again change nothing. Refused: `bundle_too_large` (413), `bundle_gap` (416, with the true `size`),
    `bundle_differs` (409), `bundle_hash_differs` (422: all of it is forgotten), `bundles_disk_full` and
    `bundles_unusable` (507).
    """
    _check_size(size, len(data))
    bundle = _begun(owner, sha256, size, offset, now)
    if bundle.complete:
        Bundle.objects.filter(pk=bundle.pk).update(used_at=now)
        return bundle
    stored = _append(bundle, offset, data)
    if stored == size:
        _complete(bundle, now)
    bundle.refresh_from_db()
    return bundle


def upload_file(file: BinaryIO, *, owner: User, sha256: str, size: int, now: datetime) -> Bundle:
    """The same for a whole file that is here already."""
    offset = 0
    while True:
        part = file.read(MAX_CHUNK)
        bundle = upload(owner=owner, sha256=sha256, size=size, offset=offset, data=part, now=now)
        offset += len(part)
        if bundle.complete or not part:
            return bundle


def taken_for(*, owner: User, sha256: str, now: datetime) -> Bundle:
    """The complete bundle that a new job of this owner names. Raises DocumentError. Call it in the job's transaction.

    A bundle that is used is not removed: it is marked before the job refers to it.
    """
    bundle = Bundle.objects.select_for_update().filter(owner=owner, sha256=sha256, complete=True).first()
    if bundle is None:
        expected = "the hash of files that you have uploaded whole; `gpulayer run` does that"
        raise DocumentError([Problem("files", f'"{sha256}"', expected)])
    Bundle.objects.filter(pk=bundle.pk).update(used_at=now)
    return bundle


def for_claim(job: Job) -> dict[str, str | int] | None:
    """What an agent is told of the job's files: `sha256` and `size`; None where it has none."""
    return {"sha256": job.bundle.sha256, "size": job.bundle.size} if job.bundle else None


def read(bundle: Bundle, *, offset: int, length: int = PAGE_BYTES) -> bytes:
    """Some bytes from `offset`. Refused: `bundle_gap` (416, with the true `size`), `bundles_unusable` (507)."""
    if offset > bundle.size:
        raise Refused("bundle_gap", f"these files have {bundle.size} bytes", status=416, size=bundle.size)
    with kept_by_the_storage("bundles"):
        return storage().read(_key(bundle), offset=offset, length=min(length, bundle.size - offset))


def _key(bundle: Bundle) -> Key:
    return Key(Kind.BUNDLES, bundle.pk)


def _check_size(size: int, part: int) -> None:
    limit = settings.GPULAYER_FILES_LIMIT_BYTES
    if size > limit:
        raise Refused("bundle_too_large", f"files may have {limit:,} bytes in all, these have {size:,}", status=413)
    if part > MAX_CHUNK:
        raise Refused("bundle_too_large", f"one call may bring {MAX_CHUNK:,} bytes, this one has {part:,}", status=413)


def _begun(owner: User, sha256: str, size: int, offset: int, now: datetime) -> Bundle:
    """The row to append to. One that was begun with another size is begun anew by a first part."""
    rows = Bundle.objects.filter(owner=owner, sha256=sha256)
    found = rows.first()
    if found and not found.complete and found.size != size and offset == 0:
        _forget(found)
        found = None
    if found is None:
        try:
            with transaction.atomic():
                return Bundle.objects.create(owner=owner, sha256=sha256, size=size, created_at=now, used_at=now)
        except IntegrityError:  # another call was first
            found = rows.get()
    if found.size != size:
        raise Refused("bundle_differs", f"these files were begun with {found.size:,} bytes, not {size:,}")
    return found


def _append(bundle: Bundle, offset: int, data: bytes) -> int:
    rows = Bundle.objects.filter(pk=bundle.pk)

    def counted() -> int:
        return rows.values_list("stored", flat=True).first() or 0

    def moved(frm: int, to: int) -> bool:
        return bool(rows.filter(stored=frm).update(stored=to))

    if offset + len(data) > bundle.size:
        raise Refused("bundle_differs", f"more than the {bundle.size:,} bytes that these files were to have")
    with kept_by_the_storage("bundles"):
        try:
            return append(storage(), _key(bundle), data, offset=offset, counted=counted, move=moved)
        except GapError as error:
            detail = f"{error.size} bytes are here, not {offset}"
            raise Refused("bundle_gap", detail, status=416, size=error.size) from error
        except DiffersError as error:
            raise Refused("bundle_differs", "other bytes are already stored at this offset", size=error.size) from error


def _complete(bundle: Bundle, now: datetime) -> None:
    """Mark it as whole if it has its hash; what has another is of no use to anybody."""
    with kept_by_the_storage("bundles"):
        digest = hashlib.sha256()
        for part in _parts(bundle):
            digest.update(part)
    if digest.hexdigest() == bundle.sha256:
        Bundle.objects.filter(pk=bundle.pk, stored=bundle.size).update(complete=True, used_at=now)
        return
    _forget(bundle)
    raise Refused("bundle_hash_differs", "what arrived has another hash: upload it again", status=422)


def _parts(bundle: Bundle) -> Iterator[bytes]:
    for offset in range(0, bundle.size, PAGE_BYTES):
        yield storage().read(_key(bundle), offset=offset, length=min(PAGE_BYTES, bundle.size - offset))


def _forget(bundle: Bundle) -> None:
    """Remove a bundle that is not complete: the row first, so that nobody counts what is gone."""
    if Bundle.objects.filter(pk=bundle.pk, complete=False).delete()[0]:
        with kept_by_the_storage("bundles"):
            storage().delete(_key(bundle))
