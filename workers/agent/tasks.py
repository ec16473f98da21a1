"""All tasks that this agent answers for: taken on, stopped, prolonged, left, as the server wants it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence

from workers.agent.device_use import Holder
from workers.agent.folder import TaskRecord
from workers.agent.giving_up import GIVEN_UP
from workers.agent.messages import Assignment, Cause, Lease, Registered, Running, Wanted
from workers.agent.preparing import Host
from workers.agent.runner import CANCEL_GRACE_SECONDS, TaskRun

log = logging.getLogger(__name__)

Key = tuple[int, int]


class Tasks:
    """Safe to use from several threads: heartbeats and the long poll both bring news."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._runs: dict[Key, TaskRun] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether anything is left to do for any of them."""
        return any(run.alive for run in self.runs())

    def runs(self) -> list[TaskRun]:
        """Those that are known now."""
        with self._lock:
            return list(self._runs.values())

    def apply(self, wanted: Wanted) -> None:
        """Take on, cancel and kill what the server says."""
        listed = {(each.task, each.fence) for each in wanted.assignments}
        with self._lock:
            # One that ended while it is still listed was refused: it is not tried again before it is assigned again.
            self._runs = {key: run for key, run in self._runs.items() if run.alive or key in listed}
            for assignment in wanted.assignments:
                if (assignment.task, assignment.fence) not in self._runs:
                    self._start(assignment)
        self._stop(wanted.cancel, "cancelled")
        self._stop(wanted.kill, GIVEN_UP, 0.0)

    def take_up(self, left: Iterable[TaskRecord], answer: Registered) -> None:
        """Go on with what an earlier agent left, as far as the server wants it."""
        with self._lock:
            for record in left:
                self._start(Assignment(task=record.task, fence=record.fence, job_id=record.job_id), record)
        self.kill(answer.kill)
        # Released there already, which an agent that was killed may not have heard: it is told once more what is known.
        self._stop(answer.forget, GIVEN_UP, 0.0)

    def kill(self, tasks: Iterable[int]) -> None:
        """The server does not know these any more."""
        self._stop(tasks, GIVEN_UP, 0.0, given_up=True)

    def prolong(self, leases: Sequence[Lease], holds: Sequence[Lease], asked_at: float) -> None:
        """A lease and a hold count from the instant (of the boot clock) before the call was sent."""
        runs = {run.assignment.task: run for run in self.runs()}
        for lease in leases:
            if lease.task in runs:
                runs[lease.task].extend(asked_at + lease.seconds)
        for hold in holds:
            if hold.task in runs:
                runs[hold.task].hold_until(asked_at + hold.seconds)

    def held(self) -> list[Running]:
        """Those that the server is to know of: claimed, and not yet released."""
        return [held for run in self.runs() if (held := run.held)]

    def holders(self) -> list[Holder]:
        """What each of them holds."""
        return [holder for run in self.runs() if (holder := run.holder)]

    def quarantined(self) -> dict[str, str]:
        """Why devices must not be used, by UUID: a process of a task does not die."""
        found = {}
        for run in self.runs():
            pids = run.stuck
            if pids and run.record:
                words = f"process {', '.join(map(str, pids))} of {run.record.job_id} does not die"
                found.update({uuid: words for _, uuid in run.record.devices if uuid})
        return found

    def private_folders(self) -> set[str]:
        """Folders in which something may still run."""
        return {run.record.private for run in self.runs() if run.record}

    def close(self) -> None:
        """Take on nothing more."""
        with self._lock:
            self._closed = True

    def end(self, why: str, grace: float, cause: Cause, seconds: float) -> None:
        """Stop all of them, and wait so long for their reports."""
        self.close()
        for run in self.runs():
            run.stop(why, grace, cause)
        self.wait(seconds)

    def leave(self, seconds: float) -> None:
        """Let those that run go on without this agent; the others are given back, within so many seconds."""
        self.close()
        waiting = [run for run in self.runs() if run.leave()]
        _join(waiting, seconds)

    def wait(self, seconds: float) -> None:
        """For all of them to be over, at most so long."""
        _join(self.runs(), seconds)

    def _start(self, assignment: Assignment, record: TaskRecord | None = None) -> None:
        if self._closed:
            return
        run = TaskRun(self._host, assignment, record)
        self._runs[assignment.task, assignment.fence] = run
        log.info("%s: %s", run.name, "taken up again" if record else "assigned")
        run.start()

    def _stop(
        self, tasks: Iterable[int], why: str, grace: float = CANCEL_GRACE_SECONDS, *, given_up: bool = False
    ) -> None:
        wanted = set(tasks)
        for run in self.runs():
            if run.assignment.task in wanted:
                run.stop(why, grace, given_up=given_up)


def _join(runs: Iterable[TaskRun], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for run in runs:
        run.join(max(0.0, deadline - time.monotonic()))
