"""Signals as something to wait for: a child that ended, or that the shim itself shall end its task."""

from __future__ import annotations

import os
import signal

_TOLD_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Wake:
    """A descriptor that becomes readable with each signal."""

    def __init__(self) -> None:
        self.handle, write = os.pipe()
        for each in (self.handle, write):
            os.set_blocking(each, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_TOLD_TO_END):
            signal.signal(number, lambda *_: None)

    def told_to_end(self) -> bool:
        """Whether one of those that came since the last time says so."""
        seen = b""
        try:
            while part := os.read(self.handle, 4096):
                seen += part
        except BlockingIOError:
            pass
        return any(number in _TOLD_TO_END for number in seen)


def reaped(main: int) -> int | None:
    """Bury every child that has ended, adopted ones too; the wait status of `main` where it is among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == main:
            status = ended
