"""The files that a job brings: fetched once by their hash, checked, kept for later jobs, and unpacked where it runs."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from workers.agent.client import AgentClient
from workers.agent.command import DeclinedError, StartFailedError
from workers.agent.messages import Claim
from workers.agent.private import make_private
from workers.agent.transport import Retry, UnreachableError

CACHE_BYTES = 5 * 10**9
"""What is kept for later jobs, the least recently used going first."""
MOST_FILES = 50_000
LONGEST_PATH = 1000
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)
_PART = 1024 * 1024
_HEX = frozenset("0123456789abcdef")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def unpack(
    client: AgentClient, claim: Claim, *, into: Path, cache: Path, retry: Retry, most: int = CACHE_BYTES
) -> None:
    """Put the claim's files into the folder `into`, which is made.

    Raises StartFailedError `files_invalid` for an archive that would put anything elsewhere, DeclinedError
    `files_unavailable` where it cannot be fetched or has no room here, and RefusedError as the transport does.
    """
    sha256, size = _asked(claim)
    with _no_room_is_no_fault_of_the_job():
        make_private(cache)
        with _fetched(client, claim, cache / sha256, sha256, size, retry) as archive:
            _make_room(cache, cache / sha256, most)
            into.mkdir(mode=0o700)
            _extract(archive, into)


def stays_inside(path: str, target: str) -> bool:
    """Whether a link at `path` to `target` leads to something below the same folder, whatever links it passes."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    depth, parts = len(PurePosixPath(path).parts) - 1, PurePosixPath(target).parts
    up = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    # `a/..` may be elsewhere than it looks where `a` is a link itself.
    return up <= depth and ".." not in parts[up:]


def _asked(claim: Claim) -> tuple[str, int]:
    files = claim.files or {}
    sha256, size = files.get("sha256"), files.get("size")
    if not isinstance(sha256, str) or len(sha256) != 64 or not _HEX.issuperset(sha256) or not isinstance(size, int):
        raise StartFailedError("files_invalid", "the server names files by what is no hash and size")
    return sha256, size


@contextmanager
def _no_room_is_no_fault_of_the_job() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DeclinedError("files_unavailable", f"no room for the files of the job: {error.strerror}") from error


@contextmanager
def _fetched(
    client: AgentClient, claim: Claim, path: Path, sha256: str, size: int, retry: Retry
) -> Iterator[IO[bytes]]:  # fmt: skip
    """The archive, open, whole and with its hash. Of several tasks that want it one fetches, the others wait."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not _is(file, sha256, size):
            _fetch(client, claim, file, size, retry)
        if not _is(file, sha256, size):
            file.truncate(0)
            raise DeclinedError("files_unavailable", "the files of the job arrived with another hash")
        os.utime(path)
        file.seek(0)
        yield file


def _fetch(client: AgentClient, claim: Claim, file: IO[bytes], size: int, retry: Retry) -> None:
    """Go on from what is there: an earlier fetch may have been cut."""
    have = file.seek(0, os.SEEK_END)
    if have >= size:  # whole, and not what it should be
        have = 0
        file.truncate(0)
        file.seek(0)
    while have < size:
        try:
            part = client.files(claim.task, claim.fence, have, retry=retry)
        except UnreachableError as error:
            raise DeclinedError("files_unavailable", f"the files of the job cannot be fetched: {error}") from error
        if not part or have + len(part) > size:
            raise DeclinedError("files_unavailable", f"the files of the job have {size:,} bytes, other than the server")
        file.write(part)
        have += len(part)
    file.flush()


def _is(file: IO[bytes], sha256: str, size: int) -> bool:
    if file.seek(0, os.SEEK_END) != size:
        return False
    file.seek(0)
    digest = hashlib.sha256()
    while part := file.read(_PART):
        digest.update(part)
    return digest.hexdigest() == sha256


def _make_room(cache: Path, keep: Path, most: int) -> None:
    """Forget what was not used for the longest time. Whoever reads it just now may do so to its end."""
    found = []
    for path in cache.iterdir():
        with suppress(OSError):
            about = path.lstat()
            found.append((about.st_mtime, about.st_size, path))
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left > most and path != keep:
            path.unlink(missing_ok=True)
            left -= size


def _extract(archive: IO[bytes], into: Path) -> None:
    links: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            for count, member in enumerate(tar):
                path = _checked(member, links)
                if count >= MOST_FILES:
                    raise _invalid(f"more than {MOST_FILES:,} files")
                if member.issym():
                    links[path] = member.linkname
                else:
                    _write(tar, member, into / path)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _invalid(f"it is no archive that can be read ({error})") from error
    for path, target in links.items():  # last: nothing is ever written through a link
        _link(into / path, target)


def _checked(member: tarfile.TarInfo, links: dict[str, str]) -> str:
    """The member's path, if it is one below the folder and the member is a plain file, a folder or a link inside."""
    path, shown = member.name, ascii(member.name[:200])
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or len(path) > LONGEST_PATH:
        raise _invalid(f"a path that is none below its folder: {shown}")
    if any("/".join(parts[:length]) in links for length in range(1, len(parts) + 1)):
        raise _invalid(f"a path that leads through a link: {shown}")
    if member.issym():
        if not stays_inside(path, member.linkname):
            raise _invalid(f"a link that leads out of its folder: {shown} to {member.linkname[:200]!a}")
    elif not member.isdir() and (member.type not in _PLAIN or member.issparse()):
        raise _invalid(f"neither a file, a folder nor a link inside: {shown}")
    return "/".join(parts)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    try:
        if member.isdir():
            target.mkdir(mode=0o755, parents=True, exist_ok=True)
            return
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        mode = 0o755 if member.mode & 0o100 else 0o644
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except (FileExistsError, NotADirectoryError) as error:
        raise _invalid(f"two things under one path: {member.name[:200]!a}") from error
    with os.fdopen(handle, "wb") as file:
        source = tar.extractfile(member)
        assert source is not None  # it is a plain file
        shutil.copyfileobj(source, file, _PART)


def _link(path: Path, target: str) -> None:
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.symlink_to(target)
    except (FileExistsError, NotADirectoryError) as error:
        raise _invalid(f"two things under one path: {path.name!a}") from error


def _invalid(why: str) -> StartFailedError:
    return StartFailedError("files_invalid", f"the files of the job cannot be unpacked: {why}")
