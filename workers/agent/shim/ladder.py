"""The end of a task: asked, killed, swept up, and only then gone."""

from __future__ import annotations

import signal

from workers.agent.shim import sweep
from workers.agent.shim.clock import now

LEFT_BEHIND_SECONDS = 2.0
"""How long what a command leaves running has, between SIGTERM and SIGKILL."""
LOOK_SECONDS = (0.02, 0.5)
"""How often one looks whether anything is left: often at first."""


class Ladder:
    """SIGTERM to the command's group, SIGKILL when its grace is over; then the same for whatever it left behind."""

    def __init__(self, tag: str, session: int, shim: int) -> None:
        self._tag = tag
        self._session = session
        self._shim = shim
        self._kill_at: float | None = None
        self._killed_at: float | None = None
        self._look_at = 0.0
        self._pause = LOOK_SECONDS[0]
        self.left: list[int] = []

    def stop(self, grace: float) -> None:
        """Ask the running command to end; kill it when `grace` seconds are over."""
        sweep.signal_group(self._session, signal.SIGTERM if grace > 0 else signal.SIGKILL)
        self._kill_at = now() + grace

    def kill(self) -> None:
        """Its time is over, whatever grace it was given."""
        sweep.signal_group(self._session, signal.SIGKILL)
        self._kill_at = None

    def climb(self) -> None:
        """While the command runs: what its time says."""
        if self._kill_at is not None and now() >= self._kill_at:
            self.kill()

    def next_at(self) -> float | None:
        """When `climb` or `is_clear` has something to do again."""
        return self._look_at or self._kill_at

    def sweep(self) -> None:
        """The command itself has ended: begin with what it left."""
        self._kill_at, self._look_at = None, now()
        self.left = self._members()
        sweep.signal_all(self.left, signal.SIGTERM)

    def is_clear(self) -> bool:
        """Whether nothing is left; kills what had its time. After `sweep`."""
        if now() < self._look_at:
            return False
        self.left = self._members()
        if not self.left:
            return True
        if self._killed_at is None and self._kill_at is None:
            self._kill_at = now() + LEFT_BEHIND_SECONDS
        if self._kill_at is not None and now() >= self._kill_at:
            sweep.signal_all(self.left, signal.SIGKILL)
            self._killed_at = self._killed_at or now()
        self._look_at = now() + self._pause
        self._pause = min(LOOK_SECONDS[1], self._pause * 2)
        return False

    def undying_for(self) -> float:
        """Seconds since the first SIGKILL that something has outlived; 0 before."""
        return now() - self._killed_at if self._killed_at is not None and self.left else 0.0

    def _members(self) -> list[int]:
        return sweep.members(self._tag, session=self._session, below=self._shim)
