"""What Linux offers to keep processes together. Elsewhere these do nothing, and an ordered stop has to be enough."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Loaded before any fork: the child between fork and exec must not load anything.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send `number` to this process when its parent ends."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends: none can slip away."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants(seconds: float = 3.0) -> None:
    """Kill all that runs below this process, and what that had started meanwhile, until nothing is left."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        running = [child for child in psutil.Process().children(recursive=True) if _is_alive(child)]
        for child in running:
            _kill(child)
        reap()
        if not running:
            return
        time.sleep(0.02)


def kill_group(pid: int) -> None:
    """Kill what is left of the process group that `pid` had led."""
    with suppress(ProcessLookupError, PermissionError):  # nothing is left of it
        os.killpg(pid, signal.SIGKILL)


def reap() -> dict[int, int]:
    """The exit codes of children (adopted ones too) that have ended since the last call, by process id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # ended by itself, or of a user that is not ours to end
        process.kill()
