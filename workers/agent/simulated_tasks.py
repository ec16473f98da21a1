"""The tasks of simulated workers: nothing is run, each lasts as long as its command would sleep."""

from __future__ import annotations

import heapq
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from workers.agent.client import AgentClient, Assignment, Claim, Finish, Result, Running
from workers.agent.frames import frame
from workers.agent.transport import RefusedError, Retry, UnreachableError

log = logging.getLogger(__name__)

CALLERS = 8
"""How many calls to the server are under way at once."""
OTHERWISE_SECONDS = 2.0
SAID = b"simulated, nothing was run\n"
_SLEEP = re.compile(r"\bsleep\s+([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)\b")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
Epoch = Callable[[str], int]
"""The epoch of a worker's present session."""


def duration_of(argv: Sequence[str]) -> float:
    """Seconds that this command sleeps; two where it doesn't say."""
    slept = [float(number) * _UNITS[unit] for number, unit in _SLEEP.findall(" ".join(argv))]
    return sum(slept) if slept else OTHERWISE_SECONDS


@dataclass(order=True)
class _Running:
    ends_at: float
    assignment: Assignment = field(compare=False)
    began_at: float = field(compare=False)
    timed_out: bool = field(compare=False, default=False)
    is_hold: bool = field(compare=False, default=False)
    over: bool = field(compare=False, default=False)


class _Callers:
    """A few threads that call the server. They end with the process, however long an answer stays away."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Condition()
        self._open = 0
        for number in range(CALLERS):
            threading.Thread(target=self._run, name=f"caller-{number}", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        """Have this done soon."""
        with self._idle:
            self._open += 1
        self._work.put(work)

    def drain(self, seconds: float) -> None:
        """Wait until everything is done, at most so long."""
        with self._idle:
            self._idle.wait_for(lambda: self._open == 0, seconds)

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            finally:
                with self._idle:
                    self._open -= 1
                    self._idle.notify_all()


class SimulatedTasks:
    """All tasks of a fleet. `turn` is called from one thread; the calls to the server go out from a few others."""

    def __init__(self, client: AgentClient, epoch: Epoch, went_stale: Callable[[str], None]) -> None:
        self._client = client
        self._epoch = epoch
        self._went_stale = went_stale
        self._ending = threading.Event()
        self._retry = Retry(self._ending.wait)
        self._callers = _Callers()
        self._lock = threading.Lock()
        self._known: set[int] = set()
        """Every task taken on, until the server lists it no more."""
        self._over: set[int] = set()
        self._running: dict[int, _Running] = {}
        self._queue: list[_Running] = []
        self._stopped = False
        self.ended = 0

    @property
    def running(self) -> int:
        """How many last right now."""
        return len(self._running)

    def held_by(self) -> dict[str, list[Running]]:
        """What each worker holds."""
        held: dict[str, list[Running]] = {}
        with self._lock:
            for each in self._running.values():
                place = each.assignment
                held.setdefault(place.worker, []).append(Running(task=place.task, fence=place.fence))
        return held

    def assign(self, assignments: Sequence[Assignment]) -> None:
        """Take on those that are new."""
        listed = {assignment.task for assignment in assignments}
        with self._lock:
            self._known -= self._over - listed
            self._over &= listed
            new = [assignment for assignment in assignments if assignment.task not in self._known]
            self._known.update(assignment.task for assignment in new)
        for assignment in new:
            self._submit(assignment, lambda given=assignment: self._begin(given))  # type: ignore[misc]

    def cancel(self, tasks: Sequence[int]) -> None:
        """End these now, as by SIGTERM."""
        for task in tasks:
            self._end(task, _cancelled)

    def turn(self) -> None:
        """End those whose time is over."""
        now = time.monotonic()
        while self._queue and self._queue[0].ends_at <= now:
            over = heapq.heappop(self._queue)
            self._end(over.assignment.task, _result)

    def stop(self, seconds: float) -> None:
        """End all of them, and tell the server as far as it can be told in so many seconds."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        self.cancel(running)
        self._callers.drain(seconds)
        self._ending.set()

    def _begin(self, assignment: Assignment) -> None:
        claim = self._client.claim(assignment.task, assignment.fence, self._epoch(assignment.worker), retry=self._retry)
        now = time.monotonic()
        running = _Running(
            now + _duration(claim), assignment, now, timed_out=_times_out(claim), is_hold=claim.hold_seconds is not None
        )  # fmt: skip
        self._client.started(
            claim.task, claim.fence, self._epoch(assignment.worker), 0, "/simulated", retry=self._retry
        )  # fmt: skip
        with self._lock:
            self._running[claim.task] = running
            heapq.heappush(self._queue, running)
            too_late = self._stopped
        if too_late:
            self.cancel([claim.task])

    def _end(self, task: int, result: Callable[[_Running], Result]) -> None:
        with self._lock:
            running = self._running.get(task)
            if running is None or running.over:
                return
            running.over = True
        self._submit(running.assignment, lambda: self._report(running.assignment, result(running)))

    def _report(self, assignment: Assignment, result: Result) -> None:
        task, fence, client, retry = assignment.task, assignment.fence, self._client, self._retry
        written = frame(b"o", SAID, time.time_ns() // 1_000_000)
        try:
            size = client.put_log(task, fence, 0, written, retry=retry)
            finish = Finish(result=result, log_size=size)
            client.finish(task, fence, self._epoch(assignment.worker), finish, retry=retry)
            client.release(task, fence, self._epoch(assignment.worker), retry=retry)
        finally:
            with self._lock:
                self._running.pop(task, None)
                self._over.add(task)
                self.ended += 1

    def _submit(self, assignment: Assignment, work: Callable[[], None]) -> None:
        self._callers.submit(lambda: self._tried(assignment, work))

    def _tried(self, assignment: Assignment, work: Callable[[], None]) -> None:
        """A task whose call was refused is forgotten: it is taken on again where the server still lists it."""
        try:
            work()
        except (RefusedError, UnreachableError) as error:
            with self._lock:
                self._known.discard(assignment.task)
            if isinstance(error, RefusedError) and error.code == "stale_epoch":
                self._went_stale(assignment.worker)
            else:
                log.warning("task %s (%s) on %s: %s", assignment.task, assignment.job_id, assignment.worker, error)
        except Exception:
            log.exception("task %s: the simulator failed", assignment.task)


def _duration(claim: Claim) -> float:
    """For how many seconds it lasts; a hold lasts until the server says that it is over."""
    if claim.hold_seconds is not None:
        return math.inf
    asked = duration_of(claim.argv)
    return min(asked, claim.timeout_s) if claim.timeout_s else asked


def _times_out(claim: Claim) -> bool:
    return bool(claim.timeout_s) and duration_of(claim.argv) > (claim.timeout_s or 0)


def _cancelled(running: _Running) -> Result:
    how = Result(exit_code=0) if running.is_hold else Result(signal=15)
    return replace(how, duration_ms=_lasted(running))


def _result(running: _Running) -> Result:
    lasted = _lasted(running)
    if running.timed_out:
        return Result(signal=15, duration_ms=lasted, timed_out=True)
    return Result(exit_code=0, duration_ms=lasted)


def _lasted(running: _Running) -> int:
    return int((time.monotonic() - running.began_at) * 1000)
