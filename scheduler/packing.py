"""A folder as one archive: the same content makes the same bytes, so that its hash can name it. No Django here."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from workers.agent.bundles import LONGEST_PATH, MOST_FILES, stays_inside

PART = 1024 * 1024
_SHOWN = 10
_BLOCK = 512
_UNITS = ((10**9, "GB"), (10**6, "MB"), (1000, "kB"), (1, "B"))
_SHORT_NAME = 100


class PackingError(Exception):
    """This folder cannot be packed; the message says what is in the way."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, by its path in the archive; a link in place of a file has a `target`."""

    path: str
    size: int = 0
    executable: bool = False
    target: str = ""


Opener = Callable[[Entry], IO[bytes]]
"""Opens the file that an entry stands for."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The archive as it was written."""

    sha256: str
    size: int
    files: int


@dataclass(frozen=True, slots=True)
class Found:
    """What of a folder goes into its archive, and what does not, each with the reason."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def look_at(folder: Path, paths: Iterable[str]) -> Found:
    """These paths below `folder`. Links that lead out of it, and what is no file, are left out."""
    entries: list[Entry] = []
    left_out: list[str] = []
    for path in sorted(set(paths), key=os.fsencode):
        entry = _entry(folder, path)
        if isinstance(entry, Entry):
            entries.append(entry)
        elif entry:
            left_out.append(f"{path}: {entry}")
    return Found(tuple(entries), tuple(left_out))


def check_size(entries: Sequence[Entry], limit: int) -> None:
    """Raise PackingError, which names what is large, where the archive would have more than `limit` bytes."""
    if len(entries) > MOST_FILES:
        raise PackingError(f"{len(entries):,} files; at most {MOST_FILES:,} can be packed{_fullest(entries)}")
    size = sum(_room(entry) for entry in entries)
    if size <= limit:
        return
    largest = sorted(entries, key=lambda entry: -entry.size)[:_SHOWN]
    listed = "\n".join(f"  {megabytes(entry.size):>10}  {entry.path}" for entry in largest if entry.size)
    raise PackingError(
        f"the files of this folder have {megabytes(size)}; at most {megabytes(limit)} can be packed. The largest:\n"
        f"{listed}"
    )


def pack(entries: Iterable[Entry], file: IO[bytes] | None, opened: Opener) -> Packed:
    """Write the archive of these entries to `file`, or nowhere, and say what it is. Raises PackingError."""
    out = _Hashing(file)
    count = 0
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for entry in entries:
            count += 1
            if entry.target:
                archive.addfile(_header(entry))
                continue
            with opened(entry) as source:
                _add(archive, entry, source)
    return Packed(out.digest.hexdigest(), out.size, count)


def files_in(folder: Path) -> Opener:
    """Opens the entries that were found in this folder."""

    def opened(entry: Entry) -> IO[bytes]:
        try:
            handle = os.open(folder / entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise PackingError(f"{entry.path}: {error.strerror}") from error
        return os.fdopen(handle, "rb")

    return opened


def megabytes(size: int) -> str:
    """A size for people, in decimal units."""
    unit, words = next((each for each in _UNITS if size >= each[0]), _UNITS[-1])
    return f"{size / unit:.1f} {words}".replace(".0 ", " ")


def _add(archive: tarfile.TarFile, entry: Entry, file: IO[bytes]) -> None:
    """Write one file with nothing of it but its path, its bytes and whether it is a program."""
    try:
        archive.addfile(_header(entry), file)
    except OSError as error:
        raise PackingError(f"{entry.path}: it changed, or could not be read: {error}") from error


class _Hashing:
    """Writes on, counts and hashes."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data) if self._file else len(data)

    def tell(self) -> int:
        return self.size


def _entry(folder: Path, path: str) -> Entry | str:
    """The file as an entry, or why it is left out; empty where it is not there."""
    try:
        about = os.lstat(folder / path)
    except OSError:
        return ""  # listed by git, removed from the folder
    if why := _unusable(path):
        return why
    if stat.S_ISLNK(about.st_mode):
        target = str((folder / path).readlink())
        inside = stays_inside(path, target)
        return Entry(path, target=target) if inside else f"a link that leads out of this folder, to {target}"
    if not stat.S_ISREG(about.st_mode):
        return "no file" if not stat.S_ISDIR(about.st_mode) else ""
    return Entry(path, about.st_size, bool(about.st_mode & stat.S_IXUSR))


def _unusable(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is no UTF-8"
    return f"its path has more than {LONGEST_PATH} characters" if len(path) > LONGEST_PATH else ""


def _header(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path)
    info.size = entry.size
    info.mode = 0o755 if entry.executable else 0o644
    if entry.target:
        info.type, info.linkname, info.size = tarfile.SYMTYPE, entry.target, 0
    return info


def _room(entry: Entry) -> int:
    """What it takes in the archive; a name that is long or has other letters than ASCII takes more."""
    name = 1 if len(entry.path) < _SHORT_NAME and entry.path.isascii() else 4
    return (name + -(-entry.size // _BLOCK)) * _BLOCK


def _fullest(entries: Sequence[Entry]) -> str:
    """The folders with the most files, to see what should be ignored."""
    counts: dict[str, int] = {}
    for entry in entries:
        top = entry.path.split("/", 1)[0]
        counts[top] = counts.get(top, 0) + 1
    most = sorted(counts.items(), key=lambda item: -item[1])[:_SHOWN]
    return ". Most are in:\n" + "\n".join(f"  {count:>10,}  {top}" for top, count in most)
