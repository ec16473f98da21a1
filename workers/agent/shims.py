"""A task's shim as its agent sees it: started here, or found running by an agent that was started later."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workers.agent.messages import Cause, cause
from workers.agent.shim import control, files
from workers.agent.shim.main import CONTROL_HANDLE, LOCK_HANDLE

_ROOT = Path(__file__).parents[2]
# Isolated and without site-packages: started for every task, it may not cost what a whole Python costs.
_BOOT = f"import sys; sys.path.append({str(_ROOT)!r}); from workers.agent.shim.main import main; main(sys.argv[1])"
_ABOVE_STANDARD = 10
_PASSED_ON = ("LD_LIBRARY_PATH", "LC_ALL", "LANG", "PYTHONHOME")


class Shim:
    """The shim of the task in `folder`, whether one runs or not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child = 0

    def start(self, plan: Mapping[str, Any]) -> None:
        """Start it. From the first instant it holds the lock by which others see that it lives."""
        lock, inbox = self._lock(), self._inbox()
        read, write = os.pipe()
        try:
            self._child = self._spawn(read, lock, inbox)
        finally:
            for each in (lock, inbox, read):
                os.close(each)
        with suppress(BrokenPipeError), os.fdopen(write, "wb") as pipe:
            pipe.write(json.dumps(plan).encode())

    def is_alive(self) -> bool:
        """Whether it runs, to the instant."""
        if self._child:
            with suppress(ChildProcessError):
                os.waitpid(self._child, os.WNOHANG)
        try:
            handle = os.open(self._folder / files.LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def intended(self) -> bool:
        """Whether its command may have been started."""
        return (self._folder / files.INTENT).exists()

    def started(self) -> Mapping[str, Any] | None:
        """The command's process, once it runs."""
        return files.read_json(str(self._folder / files.STARTED))

    def result(self) -> Mapping[str, Any] | None:
        """How it ended, once it has."""
        return files.read_json(str(self._folder / files.RESULT))

    def stuck(self) -> tuple[int, ...]:
        """Processes that do not die, where there are any."""
        found = files.read_json(str(self._folder / files.STUCK))
        return tuple(found["pids"]) if found else ()

    def errors(self) -> str:
        """What it printed, which is nothing unless it failed."""
        try:
            return (self._folder / files.ERRORS).read_text(errors="replace").strip()
        except OSError:
            return ""

    def stop(self, why: str, grace: float, ended_by: Cause | None = None) -> bool:
        """Let it end its task; false where no shim hears it."""
        return self._tell(stop=why, grace=grace, cause=cause(ended_by))

    def extend(self, deadline: float) -> None:
        """The lease goes on until this instant of the boot clock; never shorter than it was."""
        self._tell(deadline=deadline)

    def hold_until(self, instant: float) -> None:
        """A hold ends at this instant of the boot clock."""
        self._tell(hold_until=instant)

    def _tell(self, **message: object) -> bool:
        return control.tell(str(self._folder / files.CONTROL), **message)

    def _lock(self) -> int:
        handle = os.open(self._folder / files.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _out_of_the_way(handle)

    def _inbox(self) -> int:
        """The shim's end of its FIFO, handed over open: what is said to it before it listens is not lost."""
        path = self._folder / files.CONTROL
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        # For both: then it neither waits for a writer nor ends with one.
        return _out_of_the_way(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))

    def _spawn(self, read: int, lock: int, inbox: int) -> int:
        errors = os.open(self._folder / files.ERRORS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        given = enumerate((read, nothing, errors, lock, inbox))
        assert (LOCK_HANDLE, CONTROL_HANDLE) == (3, 4)
        try:
            return os.posix_spawn(
                sys.executable, [sys.executable, "-I", "-S", "-c", _BOOT, str(self._folder)],
                {name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                file_actions=[(os.POSIX_SPAWN_DUP2, handle, target) for target, handle in given], setsid=True,
            )  # fmt: skip
        finally:
            os.close(errors)
            os.close(nothing)


def _out_of_the_way(handle: int) -> int:
    """The same, above the descriptors that a shim is started with."""
    high = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _ABOVE_STANDARD)
    os.close(handle)
    return high
