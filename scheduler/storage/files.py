"""The storage in files: private ones below a folder of ours, never through a link, a pipe or a device."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from scheduler.storage.interface import Found, Key, Kind, StorageError, StorageFullError

SUFFIX = {Kind.LOGS: "log", Kind.OUTPUTS: "file", Kind.BUNDLES: "bundle"}
A_FOLDER = 1000
"""Objects in one folder."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FileStorage:
    """Objects as files `<kind>/<number / 1000>/<number>.<suffix>` (0600, folders 0700) below `root`.

    Nothing is written that would leave fewer than `keep_free` bytes of its disk: the database needs room too.
    """

    def __init__(self, root: Path, *, keep_free: int = 0) -> None:
        self._root = root
        self._keep_free = keep_free

    @contextmanager
    def writing(self, key: Key) -> Iterator[FileBlob]:
        """The file, locked against other writers until the end of the block."""
        with _as_storage_errors(key), self._opened(key, os.O_RDWR | os.O_CREAT) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield FileBlob(file, self._keep_free)

    def read(self, key: Key, *, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`."""
        if length <= 0:
            return b""
        with _as_storage_errors(key):
            try:
                with self._opened(key, os.O_RDONLY) as file:
                    return os.pread(file, length, offset)
            except FileNotFoundError:
                return b""

    def size(self, key: Key) -> int | None:
        """How many bytes the file has."""
        with _as_storage_errors(key):
            try:
                with self._opened(key, os.O_RDONLY) as file:
                    return os.fstat(file).st_size
            except FileNotFoundError:
                return None

    def delete(self, key: Key) -> bool:
        """Remove the file; whoever reads it just now may do so to its end."""
        with _as_storage_errors(key):
            try:
                with self._folder(key) as folder:
                    os.unlink(_name(key), dir_fd=folder)
            except FileNotFoundError:
                return False
            return True

    def listing(self, kind: Kind) -> Iterator[Found]:
        """Every file of this kind that is named as we name them."""
        for folder in _entries(self._root / kind.value):
            for entry in _entries(Path(folder.path)) if folder.is_dir(follow_symlinks=False) else ():
                number, dot, suffix = entry.name.partition(".")
                if not (dot and suffix == SUFFIX[kind] and number.isascii() and number.isdigit()):
                    continue
                with suppress(FileNotFoundError):
                    about = entry.stat(follow_symlinks=False)
                    yield Found(Key(kind, int(number)), about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))

    @contextmanager
    def _folder(self, key: Key, *, make: bool = False) -> Iterator[int]:
        path = self._root / key.kind.value / str(key.number // A_FOLDER)
        if make:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _opened(self, key: Key, flags: int) -> Iterator[int]:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._folder(key, make=bool(flags & os.O_CREAT)) as folder:
            file = os.open(_name(key), flags, 0o600, dir_fd=folder)
            try:
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode):
                    raise OSError(errno.EINVAL, "it is no regular file")
                if flags & os.O_CREAT and not about.st_size:
                    os.fsync(folder)  # its name is to survive as its bytes do
                yield file
            finally:
                os.close(file)


class FileBlob:
    """An open, locked file."""

    def __init__(self, file: int, keep_free: int) -> None:
        self._file = file
        self._keep_free = keep_free

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`."""
        return os.pread(self._file, length, offset)

    def write(self, offset: int, data: bytes) -> None:
        """Put the bytes there, on the disk itself. What could not be written whole is taken back."""
        room = os.fstatvfs(self._file)
        if self._keep_free and room.f_bavail * room.f_frsize < self._keep_free + len(data):
            raise StorageFullError(f"fewer than {self._keep_free} bytes would be left free")
        try:
            self._put(offset, data)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, offset)
            raise

    def _put(self, offset: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._file, rest, offset)
            rest, offset = rest[written:], offset + written
        os.fdatasync(self._file)


def _name(key: Key) -> str:
    return f"{key.number}.{SUFFIX[key.kind]}"


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


@contextmanager
def _as_storage_errors(key: Key) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = StorageFullError if error.errno in _FULL else StorageError
        raise kind(f"{key.kind.value} {key.number}: {error}") from error
