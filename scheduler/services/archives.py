"""An archive from a person's browser, zip or tar, as the one kind of archive that agents unpack."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import IO, TypeVar, cast

from django.conf import settings
from django.contrib.auth.models import User

from scheduler.core.reading import can_be_stored, is_printable
from scheduler.models import Bundle
from scheduler.packing import Entry, Opener, PackingError, check_size, pack
from scheduler.services.bundles import upload_file
from workers.agent.bundles import LONGEST_PATH, MOST_FILES, stays_inside

T = TypeVar("T")

_JUNK = ("__MACOSX", ".DS_Store")
_PART = 1024 * 1024
_LONGEST_LINK = 4096
_DAMAGED = "it is damaged ({error})"
_COMPRESSED: Mapping[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)), b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}  # fmt: skip
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, NotImplementedError,
    ValueError, RuntimeError,
)  # fmt: skip
"""What their readers raise for files that are no such archive, are cut, encrypted, or use what they do not know."""


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say this of the archive where its reader fails. What this host refuses, such as a full disk, is not its fault."""
    try:
        yield
    except PackingError:
        raise
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise PackingError(what.format(error=error)) from error


def bundle_from(file: IO[bytes], *, owner: User, now: datetime) -> Bundle:
    """Keep what is in the archive as files for the owner's jobs; one folder around everything is taken off.

    Raises PackingError for what is no archive, holds too much, or would put anything outside of its folder.
    """
    with _entries(file) as (entries, opened), tempfile.TemporaryFile() as out:
        check_size(entries, settings.GPULAYER_FILES_LIMIT_BYTES)
        if not entries:
            raise PackingError("there is no file in it")
        with _told(_DAMAGED):
            packed = pack(entries, out, opened)
        out.seek(0)
        return upload_file(out, owner=owner, sha256=packed.sha256, size=packed.size, now=now)


@contextmanager
def _entries(file: IO[bytes]) -> Iterator[tuple[list[Entry], Opener]]:
    beginning = file.read(6)
    file.seek(0)
    if beginning.startswith(b"PK"):
        with _opened_zip(file) as archive:
            yield _of_zip(archive)
        return
    unpack = next((opener for mark, opener in _COMPRESSED.items() if beginning.startswith(mark)), None)
    with tempfile.TemporaryFile() as plain:
        if unpack:
            _expand(unpack(file), plain)
            file = plain
        with _opened_tar(file) as archive:
            yield _of_tar(archive)


def _opened_zip(file: IO[bytes]) -> zipfile.ZipFile:
    with _told("it is no zip that can be read ({error})"):
        return zipfile.ZipFile(file)


def _opened_tar(file: IO[bytes]) -> tarfile.TarFile:
    with _told("it is neither a zip nor a tar (.tar, .tar.gz, .tar.bz2, .tar.xz)"):
        return tarfile.open(fileobj=file, mode="r:")


def _expand(source: IO[bytes], to: IO[bytes]) -> None:
    """Decompress no more than could be kept: a small file can hold a terabyte of zeros."""
    left = 2 * settings.GPULAYER_FILES_LIMIT_BYTES
    with _told(_DAMAGED):
        while part := source.read(_PART):
            left -= len(part)
            if left < 0:
                raise PackingError(f"there is more in it than {settings.GPULAYER_FILES_LIMIT_BYTES:,} bytes")
            to.write(part)
    to.seek(0)


def _of_zip(archive: zipfile.ZipFile) -> tuple[list[Entry], Opener]:
    infos: dict[str, zipfile.ZipInfo] = {}
    entries = []
    for info in _bounded(archive.infolist()):
        path, mode = _path(info.filename), info.external_attr >> 16
        if info.is_dir() or not path:
            continue
        target = archive.read(info).decode() if stat.S_ISLNK(mode) and info.file_size <= _LONGEST_LINK else ""
        entries.append(_entry(path, info.file_size, bool(mode & 0o100), target, is_link=stat.S_ISLNK(mode)))
        infos[path] = info
    return _without_top(entries, lambda entry_path: archive.open(infos[entry_path]))


def _of_tar(archive: tarfile.TarFile) -> tuple[list[Entry], Opener]:
    members: dict[str, tarfile.TarInfo] = {}
    entries = []
    with _told(_DAMAGED):
        for member in _bounded(archive):
            path = _path(member.name)
            if member.isdir() or not path:
                continue
            if not (member.isreg() or member.issym()) or member.issparse():
                raise PackingError(f"{path} is neither a file nor a link")
            target = member.linkname if member.issym() else ""
            entries.append(_entry(path, member.size, bool(member.mode & 0o100), target, is_link=member.issym()))
            members[path] = member
    return _without_top(entries, lambda entry_path: _source(archive, members[entry_path]))


def _source(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = archive.extractfile(member)
    assert found is not None  # it is a plain file
    return found


def _bounded(items: Iterable[T]) -> Iterator[T]:
    for count, item in enumerate(items):
        if count >= MOST_FILES:
            raise PackingError(f"there are more than {MOST_FILES:,} files in it")
        yield item


def _path(name: str) -> str:
    """The path below the folder, empty for what nobody wants; raises PackingError for any other."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    path = "/".join(parts)
    if any(part in _JUNK for part in parts):
        return ""
    fine = can_be_stored(path) and is_printable(path) and len(path) <= LONGEST_PATH
    if not fine or path.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        raise PackingError(f"a path that is none below its folder: {name[:200]!a}")
    return path


def _entry(path: str, size: int, executable: bool, target: str, *, is_link: bool) -> Entry:
    if is_link and not stays_inside(path, target):
        raise PackingError(f"{path} is a link that leads out of the folder, to {target[:200]!a}")
    return Entry(path, 0 if is_link else size, executable, target)


def _without_top(entries: list[Entry], source: Callable[[str], IO[bytes]]) -> tuple[list[Entry], Opener]:
    """The entries, sorted and each only once, without the one folder that may stand around everything."""
    if len({entry.path for entry in entries}) != len(entries):
        raise PackingError("one path is in it twice")
    tops = {entry.path.partition("/")[0] for entry in entries}
    around = f"{next(iter(tops))}/" if len(tops) == 1 and all("/" in entry.path for entry in entries) else ""
    found = [replace(entry, path=entry.path.removeprefix(around)) for entry in entries]
    return sorted(found, key=lambda entry: entry.path.encode()), lambda entry: source(around + entry.path)
