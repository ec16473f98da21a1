"""One lock for each device of a host, shared by all agents on it, whoever runs them.

A lock is an flock on a file named after the device. It is held by the task's shim and inherited by its command, so it
is free only once all of them are gone, whatever a server says. Files are made once, readable by all, and never removed:
a lock on a file that was removed and made again would lock nothing.
"""

from __future__ import annotations

import binascii
import fcntl
import os
import stat

FOLDER = "GPULAYER_DEVICE_LOCKS"
"""Environment variable that names another folder, for agents in containers that share devices."""


class BusyError(Exception):
    """Another task of this host holds it."""


def folder() -> str:
    """Where the locks lie. Which folder it is must not depend on the user: else two agents would not meet."""
    chosen = os.environ.get(FOLDER)
    return chosen or ("/run/lock" if _is_shared("/run/lock") else "/tmp")  # noqa: S108


def path_of(device: str) -> str:
    """The lock of the device with this UUID (or of a port, named by its caller)."""
    plain = "".join(each if each.isalnum() or each == "-" else "_" for each in device)[:80]
    return f"{folder()}/gpulayer-{plain}-{binascii.crc32(device.encode()):08x}.lock"


def hold(path: str) -> int:
    """Take the lock; the answer is the descriptor that holds it. Raises BusyError, or OSError where it cannot be."""
    while True:
        handle = _open(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise BusyError(path) from None
        if _is_still_at(path, handle):
            return handle
        os.close(handle)


def _open(path: str) -> int:
    """For reading: another user's file may be locked, too. Never through a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        # Made first and opened then: in a folder for everyone the kernel refuses both at once for others' files.
        try:
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return os.open(path, flags)
        os.fchmod(made, 0o644)
        return made


def _is_still_at(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _is_shared(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError:
        return False
    return bool(stat.S_ISDIR(mode) and mode & stat.S_ISVTX and mode & stat.S_IWOTH)
