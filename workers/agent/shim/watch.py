"""Watching one running task: its output, its time, what the agent says, and its end."""

from __future__ import annotations

import os
import select

from workers.agent.frames import FRAME_BYTES
from workers.agent.shim import files
from workers.agent.shim.causes import cause
from workers.agent.shim.clock import now
from workers.agent.shim.ladder import Ladder
from workers.agent.shim.limits import was_out_of_memory
from workers.agent.shim.signals import reaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from workers.agent.shim.control import Inbox
    from workers.agent.shim.files import Reserved
    from workers.agent.shim.output import Output
    from workers.agent.shim.plan import Plan
    from workers.agent.shim.signals import Wake
    from workers.agent.shim.spawn import Running

DRAIN_SECONDS = 5.0
"""How long output may still come once every known process is gone."""
TIMEOUT_GRACE_SECONDS = 10.0
LONGEST_SLEEP_SECONDS = 1.0
"""A sleep is measured by a clock that a suspended host stops; a deadline is not."""


class Watch:
    """A task from the start of its command (of a hold: none) until none of its processes is left."""

    def __init__(
        self, folder: str, plan: Plan, running: Running | None, *, output: Output, inbox: Inbox, wake: Wake,
        result: Reserved,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._plan = plan
        self._output = output
        self._inbox = inbox
        self._wake = wake
        self._result = result
        self._pid = running.pid if running else 0
        self._streams = {running.out: b"o", running.err: b"e"} if running else {}
        self._ladder = Ladder(plan.tag, self._pid, os.getpid())
        self._began = now()
        self._deadline = plan.deadline
        self._hold_until = plan.hold_until
        self._timeout_at = self._began + plan.timeout_s if plan.timeout_s else None
        self._stopped: dict[str, Any] | None = None
        """How it was told to end, by the first that said so."""
        self._timed_out = False

    def run(self) -> None:
        """Until nothing is left."""
        status = self._until_it_ends() if self._pid else self._until_released()
        lasted = now() - self._began
        stopped = self._stopped or {}  # who comes later did not bring it about
        self._ladder.sweep()
        self._until_drained()
        self._output.end()
        self._result.write({
            **_ending(status), "duration_ms": int(lasted * 1000), "timed_out": self._timed_out,
            "ended_by": stopped.get("cause") or was_out_of_memory(self._plan.cgroup, status),
        })  # fmt: skip
        self._until_gone()

    def _until_it_ends(self) -> int:
        while True:
            self._wait(self._pause())
            status = reaped(self._pid)
            if status is not None:
                return status
            self._obey()
            self._ladder.climb()

    def _until_released(self) -> int:
        """A hold: nothing runs, and its end is no failure."""
        while self._stopped is None and (self._hold_until is None or now() < self._hold_until):
            self._wait(self._pause())
            self._obey()
        return 0

    def _until_drained(self) -> None:
        """What is left behind may still write; and once it is gone, its last words may be on their way."""
        deadline: float | None = None
        while self._streams:
            self._sit(0.02)
            if deadline is None and (self._ladder.is_clear() or self._ladder.undying_for() > DRAIN_SECONDS):
                deadline = now() + DRAIN_SECONDS
            if deadline is not None and now() >= deadline:
                return

    def _until_gone(self) -> None:
        told: list[int] = []
        while not self._ladder.is_clear():
            self._sit(self._pause())
            if self._ladder.undying_for() >= self._plan.quarantine_s and self._ladder.left != told:
                told = self._ladder.left
                files.write_whole(f"{self._folder}/{files.STUCK}", {"pids": told})

    def _sit(self, seconds: float) -> None:
        """The end has begun: whatever is said now changes nothing."""
        self._wait(seconds)
        self._inbox.read()
        self._wake.told_to_end()
        reaped(0)

    def _obey(self) -> None:
        """What the agent said, then what the clock says: an extension that has arrived counts."""
        for message in self._inbox.read():
            if "deadline" in message and self._deadline is not None:
                self._deadline = max(self._deadline, float(message["deadline"]))
            if "hold_until" in message:
                self._hold_until = float(message["hold_until"])
            if "stop" in message:
                self._stop(str(message["stop"]), float(message["grace"]), message.get("cause"))
        if self._wake.told_to_end():
            self._stop("stopped: its shim was told to end", 10.0, cause("shim_ended", "its shim was told to end"))
        if self._timeout_at is not None and now() >= self._timeout_at:
            self._time_out()
        self._mind_the_lease()

    def _mind_the_lease(self) -> None:
        if self._deadline is None or now() < self._deadline - self._plan.warning_s:
            return
        lost = cause("lost", "it had no contact with the server for the whole of its lease, and ended it")
        self._stop("stopped: no contact with the server for the whole of its lease", self._plan.warning_s, lost)
        if now() >= self._deadline:
            self._deadline = None
            self._ladder.kill()

    def _time_out(self) -> None:
        self._timeout_at = None
        if self._stopped is None:
            self._timed_out = True
            limit = f"stopped after its time limit of {self._plan.timeout_s:g} s"
            self._stop(limit, TIMEOUT_GRACE_SECONDS, None)

    def _stop(self, why: str, grace: float, ended_by: dict[str, str] | None) -> None:
        """Only the first call counts."""
        if self._stopped is not None:
            return
        self._stopped = {"cause": ended_by}
        self._output.say(why if self._pid or ended_by else "released")
        if self._pid:
            self._ladder.stop(grace)

    def _pause(self) -> float:
        """Seconds until something has to be done, at most one."""
        warned_at = self._deadline - self._plan.warning_s if self._deadline is not None else None
        if self._stopped is not None:
            warned_at = self._deadline
        hold_until = None if self._pid else self._hold_until
        instants = (self._ladder.next_at(), self._timeout_at, warned_at, hold_until)
        soonest = min((each for each in instants if each is not None), default=now() + LONGEST_SLEEP_SECONDS)
        return min(max(soonest - now(), 0.0), LONGEST_SLEEP_SECONDS)

    def _wait(self, seconds: float) -> None:
        """Until output, a word of the agent or a signal comes, at most so long; keeps the output."""
        poll = select.poll()
        for handle in (*self._streams, self._inbox.handle, self._wake.handle):
            poll.register(handle, select.POLLIN)
        for handle, _ in poll.poll(seconds * 1000):
            if handle in self._streams:
                self._keep(handle)

    def _keep(self, handle: int) -> None:
        text = os.read(handle, FRAME_BYTES)
        if text:
            self._output.append(self._streams[handle], text)
        else:
            del self._streams[handle]
            os.close(handle)


def _ending(status: int) -> dict[str, int | None]:
    """Exit code and signal of a wait status."""
    code = os.waitstatus_to_exitcode(status)
    return {"exit_code": code if code >= 0 else None, "signal": -code if code < 0 else None}
