"""The processes of one task: its output, its end, and that nothing of it is left."""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import psutil

from workers.agent.client import Cause, Result
from workers.agent.command import TAG
from workers.agent.spool import FRAME_BYTES, Spool

log = logging.getLogger(__name__)

LEFT_BEHIND_SECONDS = 2.0
"""How long what a command leaves running has, between SIGTERM and SIGKILL."""
DRAIN_SECONDS = 5.0
"""How long output may still come once every known process is gone."""
AGAIN_SECONDS = 5.0


class Pump:
    """Moves a command's two output streams into its spool, until both end or it is told to stop."""

    def __init__(self, out: IO[bytes], err: IO[bytes], spool: Spool) -> None:
        self._streams = ((out, b"o"), (err, b"e"))
        self._spool = spool
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def finish(self, seconds: float) -> None:
        """Wait for the end of the streams, at most so long, and close them."""
        self._thread.join(seconds)
        os.write(self._wake_write, b"!")
        self._thread.join()
        for descriptor in (self._wake_read, self._wake_write):
            os.close(descriptor)
        for stream, _ in self._streams:
            stream.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for stream, name in self._streams:
                selector.register(stream, selectors.EVENT_READ, name)
            selector.register(self._wake_read, selectors.EVENT_READ)
            while len(selector.get_map()) > 1:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    text = os.read(key.fd, FRAME_BYTES)
                    if text:
                        self._spool.append(key.data, text)
                    else:
                        selector.unregister(key.fileobj)


class TaskProcess:
    """A running command. `ended` is set with the `result` known, `gone` once none of its processes is left."""

    def __init__(
        self, popen: subprocess.Popen[bytes], spool: Spool, tag: str, *, timeout_s: float | None,
        on_end: Callable[[Result], None],
    ) -> None:  # fmt: skip
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.pid = popen.pid
        self.ended = threading.Event()
        self.gone = threading.Event()
        self.result: Result | None = None
        self._popen = popen
        self._spool = spool
        self._tag = tag
        self._on_end = on_end
        self._began = time.monotonic()
        self._stopping = threading.Lock()
        self._timed_out = False
        self._ended_by: Cause | None = None
        self._pump = Pump(popen.stdout, popen.stderr, spool)
        self._timer = threading.Timer(timeout_s, self._time_out, [timeout_s]) if timeout_s else None
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        threading.Thread(target=self._follow, name=f"task-{popen.pid}", daemon=True).start()

    def stop(self, why: str, grace: float, cause: Cause | None = None) -> None:
        """SIGTERM to the group, SIGKILL after `grace` seconds. Only the first call counts."""
        if self._stopping.acquire(blocking=False):
            self._ended_by = cause
            threading.Thread(target=self._stop, args=(why, grace), name=f"stop-{self.pid}", daemon=True).start()

    def _time_out(self, seconds: float) -> None:
        if self._stopping.acquire(blocking=False):
            self._timed_out = True
            self._stop(f"stopped after its time limit of {seconds:g} s", grace=10.0)

    def _stop(self, why: str, grace: float) -> None:
        if self.ended.is_set():
            return
        self._spool.say(why)
        _signal_group(self.pid, signal.SIGTERM)
        if not self.ended.wait(grace):
            _signal_group(self.pid, signal.SIGKILL)

    def _follow(self) -> None:
        code = self._popen.wait()
        ended_by = self._ended_by  # who comes later did not bring it about
        duration = time.monotonic() - self._began
        if self._timer:
            self._timer.cancel()
        gone = end_all(self._tag, self.pid, LEFT_BEHIND_SECONDS)
        self._pump.finish(DRAIN_SECONDS)
        self.result = Result(
            exit_code=code if code >= 0 else None, signal=-code if code < 0 else None,
            duration_ms=int(duration * 1000), timed_out=self._timed_out, ended_by=ended_by,
        )  # fmt: skip
        try:
            self._on_end(self.result)
        except OSError as error:  # a full disk: the server is told all the same
            log.warning("the result of process %s cannot be written down: %s", self.pid, error)
        self._spool.end()
        self.ended.set()
        while not gone:
            gone = end_all(self._tag, self.pid, AGAIN_SECONDS)
        self.gone.set()


def end_all(tag: str, session: int, grace: float) -> bool:
    """End every process of a task, wherever it has moved to; true when none is left."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = members(tag, session)
        if not left:
            return True
        for process in left:
            with suppress(psutil.Error):
                process.send_signal(number)
        _wait_until_gone(left, grace)
    return not members(tag, session)


def _wait_until_gone(processes: list[psutil.Process], seconds: float) -> None:
    """A process that nobody has buried yet counts as gone: in a container there may be no one to do it."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while any(_is_alive(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(0.1, pause * 2)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def members(tag: str, session: int) -> list[psutil.Process]:
    """The live processes of a task: those of its session, and those that carry its tag (after a `setsid`)."""
    return [process for process in psutil.process_iter() if _belongs(process, tag, session)]


def _belongs(process: psutil.Process, tag: str, session: int) -> bool:
    try:
        ours = os.getsid(process.pid) == session or process.environ().get(TAG) == tag
    except (psutil.Error, OSError):  # gone meanwhile, or another user's
        return False
    return ours and _is_alive(process)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
