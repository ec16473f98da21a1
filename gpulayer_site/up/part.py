"""One running part: started, listened to, restarted, stopped."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from gpulayer_site.up import linux
from gpulayer_site.up.parts import Recipe

_FIRST_DELAY, _LONGEST_DELAY = 0.5, 30.0
# Who was ready before can start: it is needed again soon, whatever ended it.
_LONGEST_DELAY_OF_READY = 4.0
# Who ran for this long had started well: its next crash is a new story.
_STEADY_SECONDS = 60.0
_LONGEST_LINE = 16 * 1024


class Part:
    """A part and its process. All times are seconds of a clock that only runs forward."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = False
        self.was_ready = False
        """Whether it ever was: then it can start."""
        self.crashes = 0
        self.restart_at: float | None = None
        self._started_at = 0.0
        self._rest = b""

    @property
    def name(self) -> str:
        """What its lines are marked with."""
        return self.recipe.name

    @property
    def output(self) -> IO[bytes] | None:
        """Where its lines come from."""
        return self.process.stdout if self.process else None

    def start(self) -> None:
        """Start the process in a session of its own: a Ctrl-C reaches the launcher alone, which stops it in turn."""
        supervisor = os.getpid()
        self.process = subprocess.Popen(  # its output is closed by `ended`
            self.recipe.argv,
            env=dict(self.recipe.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _tie_to(supervisor, self.recipe.when_orphaned),  # noqa: PLW1509 - the supervisor has one thread
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.ready, self.restart_at, self._started_at, self._rest = False, None, time.monotonic(), b""

    def lines(self) -> Iterator[str]:
        """The whole lines that it has printed since the last call."""
        chunk = self._read()
        while chunk:
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            if len(self._rest) > _LONGEST_LINE:
                whole, self._rest = [*whole, self._rest], b""
            for line in whole:
                yield line.decode(errors="replace").rstrip()
            chunk = self._read()

    def ended(self) -> Iterator[str]:
        """Its process is gone: end what it had started, and give the last lines."""
        assert self.process is not None
        linux.kill_group(self.process.pid)
        yield from self.lines()
        if self._rest:
            yield self._rest.decode(errors="replace")
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process, self.was_ready, self.ready = None, self.was_ready or self.ready, False

    def restart_later(self) -> float:
        """Plan the next start and return in how many seconds: twice as long after each crash."""
        if time.monotonic() - self._started_at > _STEADY_SECONDS:
            self.crashes = 0
        longest = _LONGEST_DELAY_OF_READY if self.was_ready else _LONGEST_DELAY
        delay = min(_FIRST_DELAY * 2**self.crashes, longest)
        self.crashes += 1
        self.restart_at = time.monotonic() + delay
        return delay

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the part's own process."""
        if self.process is not None:
            with suppress(ProcessLookupError):  # it ended first
                os.kill(self.process.pid, number)

    def _read(self) -> bytes:
        if self.output is None:
            return b""
        try:
            return os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return b""


def _tie_to(supervisor: int, number: signal.Signals) -> None:
    """In the child, before it becomes the part: end with the supervisor, even if that was killed a moment ago."""
    linux.die_with_parent(number)
    if os.getppid() != supervisor:
        os._exit(1)
