"""The file of a backup: written beside its place and moved there when it is whole; read without trusting it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

FORMAT = 1
MANIFEST = "manifest.json"
SQLITE, DUMP = "database.sqlite3", "database.dump"
KEYS = ("secret_key", "secrets_key")
FOLDERS = ("logs", "outputs", "bundles")
_LEVEL = 3
_PIECE = 1 << 20
_INSIDE = re.compile(rf"(?:{'|'.join(FOLDERS)})/[0-9]{{1,12}}/[0-9]{{1,18}}\.[a-z]{{1,8}}")
"""What lies in the folders: `logs/0/17.log`. Nothing else is taken out of an archive."""


class BackupError(Exception):
    """A backup that cannot be made or used: one line that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself. `files`: name to [bytes, SHA-256 in hex]."""

    made_at: str
    gpulayer: str
    database: str
    """`sqlite` or `postgresql`."""
    migrations: list[str]
    has_keys: bool
    has_files: bool
    files: dict[str, list[Any]] = field(default_factory=dict)
    format: int = FORMAT


class Writer:
    """Adds files to a new archive, and remembers what they were."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, list[Any]] = {}

    def add(self, name: str, path: Path) -> bool:
        """The file as long as it is now; one that grows meanwhile is cut there. False: it is not there any more."""
        try:
            with path.open("rb") as file:
                about = os.fstat(file.fileno())
                info = tarfile.TarInfo(name)
                info.size, info.mtime, info.mode = about.st_size, int(about.st_mtime), 0o600
                read = _Hashed(file)
                self._tar.addfile(info, read)
        except FileNotFoundError:
            return False
        self.files[name] = [info.size, read.digest.hexdigest()]
        return True

    def finish(self, manifest: Manifest) -> None:
        """The manifest, as the last one."""
        text = json.dumps(asdict(manifest), indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(text), 0o600
        self._tar.addfile(info, io.BytesIO(text))


class _Hashed:
    """A file that is read, and hashed by the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A new archive at `path` (0600). Whatever goes wrong leaves none there. Raises BackupError where there is one."""
    if path.exists():
        raise BackupError(f"{path} is there already; choose another name")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_LEVEL, format=tarfile.PAX_FORMAT) as tar:
                yield Writer(tar)
            file.flush()
            os.fsync(file.fileno())
        os.link(partial, path)  # fails where somebody else was first
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def unpack(path: Path, into: Path) -> Manifest:
    """Everything of the archive, checked against its manifest, in the empty folder `into`. Raises BackupError."""
    found: dict[str, list[Any]] = {}
    manifest: Manifest | None = None
    try:
        with tarfile.open(path, "r:gz") as tar:
            for member in tar:
                _check_member(member)
                source = tar.extractfile(member)
                assert source is not None, "a regular file has a content"
                if member.name == MANIFEST:
                    manifest = _read_manifest(source.read(256 << 20))
                else:
                    found[member.name] = _take_out(source, into / member.name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BackupError(f"{path} cannot be read as a backup: {error}") from error
    if manifest is None:
        raise BackupError(f"{path} is no whole backup: it has no manifest at its end")
    wrong = sorted(name for name in {*found, *manifest.files} if found.get(name) != manifest.files.get(name))
    if wrong:
        raise BackupError(f"{path} is damaged: {', '.join(wrong[:5])} is not what its manifest says")
    return manifest


def _check_member(member: tarfile.TarInfo) -> None:
    known = member.name in (MANIFEST, SQLITE, DUMP, *KEYS) or _INSIDE.fullmatch(member.name)
    if not (member.isreg() and known):
        raise BackupError(
            f"this is no backup of gpulayer: `{PurePosixPath(member.name).name[:80]}` has no place in one"
        )


def _read_manifest(text: bytes) -> Manifest:
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise BackupError(f"its form is {document['format']}, this gpulayer reads {FORMAT}")
        return Manifest(**document)
    except (ValueError, TypeError, KeyError) as error:
        raise BackupError("its manifest cannot be read") from error


def _take_out(source: IO[bytes], path: Path) -> list[Any]:
    """Write it (0600); gives its bytes and digest."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        while piece := source.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
    return [size, digest.hexdigest()]
