"""Heartbeats: what they say, and when the next is due."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from workers.agent.probe import Probe
from workers.agent.reporting import Session
from workers.agent.tasks import Tasks

JITTER = 0.2


class Beats:
    """One agent's calls, numbered and signed with what tells this run of it from any other."""

    def __init__(self, session: Session, worker: str, tasks: Tasks, probe: Probe, chance: Callable[[], float]) -> None:
        self.instance = secrets.token_hex(16)
        self.pace = 1.0
        """Seconds between two, as the server last said."""
        self._session = session
        self._worker = worker
        self._tasks = tasks
        self._probe = probe
        self._chance = chance
        self._seq = 0
        self._due_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._due_at

    @property
    def seconds_left(self) -> float:
        """Until it is time."""
        return max(0.0, self._due_at - time.monotonic())

    def plan(self, next_in: float) -> None:
        """The next: ±20 %, so that a fleet that started together does not call together."""
        self.pace = next_in
        self._due_at = time.monotonic() + next_in * (1 - JITTER + 2 * JITTER * self._chance())

    def next_seq(self) -> int:
        """The number of the next call."""
        self._seq += 1
        return self._seq

    def body(self) -> dict[str, Any]:
        """How every device and task does now."""
        seen = self._probe.device_states(self._tasks.holders(), self._tasks.quarantined())
        if seen.changed:
            self._session.stale.set()
        return self._signed(devices=seen.devices, strays=seen.strays)

    def goodbye(self) -> dict[str, Any]:
        """The last one."""
        return self._signed(devices=[], leaving=True)

    def _signed(self, **more: object) -> dict[str, Any]:
        return {
            "worker": self._worker, "epoch": self._session.epoch, "seq": self.next_seq(), "instance": self.instance,
            "running": self._tasks.held(), **more,
        }  # fmt: skip
