"""The agent: registers its host, says that it is alive, takes on what the server assigns, and ends in order."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workers.agent.client import Assignment, Cause, Registered, Running, Wanted
from workers.agent.command import Environment
from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.host import boot_id
from workers.agent.probe import Probe, Probed
from workers.agent.reporting import Session, give_up
from workers.agent.runner import CANCEL_GRACE_SECONDS, TaskRun, end_left
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
SLOWEST_SECONDS = 15.0
"""The longest pause between two tries while the server cannot be reached."""
CONFLICT_SECONDS = 120.0
"""How long a second machine of the same name may be a memory of the server's only."""
JITTER = 0.2
END_GRACE_SECONDS = 2.0
END_REPORT_SECONDS = 1.5
PRUNE_SECONDS = 3600.0
STOPPED = Cause(code="agent_stopped", detail="its agent was stopped and ended it")
Key = tuple[int, int]


class CredentialRefusedError(Exception):
    """The server no longer takes this worker's credential."""


class Agent:
    """One worker on this host, for as long as `run` runs."""

    def __init__(
        self, session: Session, worker: str, probe: Probe, folder: AgentFolder, environments: Mapping[str, Environment],
        *, chance: Callable[[], float] = random.random,
    ) -> None:  # fmt: skip
        self._session = session
        self._worker = worker
        self._probe = probe
        self._folder = folder
        self._environments = environments
        self._chance = chance
        self._stopping = threading.Event()
        self._runs: dict[Key, TaskRun] = {}
        self._seq = 0
        self._beat_at = 0.0
        self._prune_at = 0.0
        self._failures = 0

    def stop(self) -> None:
        """Let `run` come to its end; safe in a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Work until `stop`. Raises RefusedError for a refused first registration, CredentialRefusedError later."""
        left = self._folder.left_tasks()
        for record in left:
            end_left(record, END_GRACE_SECONDS)
        if self._first_registration(left):
            while not self._stopping.wait(self._turn()):
                pass
        self._end()

    def _first_registration(self, left: list[TaskRecord]) -> bool:
        """Register, however long the server stays away; false where the agent is stopped before that."""
        patience = time.monotonic() + CONFLICT_SECONDS
        while not self._stopping.is_set():
            try:
                answer = self._register(_running(left))
            except UnreachableError as error:
                self._stopping.wait(self._failed(error))
            except RefusedError as error:
                # After a sudden restart of this host the server still believes in the boot before.
                if error.code != "machine_conflict" or time.monotonic() > patience:
                    raise
                self._stopping.wait(self._refused(error))
            else:
                self._take_up(left, answer)
                return True
        return False

    def _register(self, running: Iterable[Running]) -> Registered:
        probed = self._probe.read()
        answer = self._session.client.register(self._worker, boot_id(), probed.document, running, probed.unknown)
        self._session.renew(answer.epoch)
        self._plan_beat(answer.next_in)
        self._said_hello(answer, probed)
        return answer

    def _take_up(self, left: list[TaskRecord], answer: Registered) -> None:
        """Report what an earlier agent left, as far as the server wants it."""
        for record in left:
            if record.task in answer.forget:
                record.remove()
            elif record.task in answer.kill:
                give_up(self._session, record, None)
            else:
                assignment = Assignment(task=record.task, fence=record.fence, job_id=record.job_id)
                self._start(assignment, record)

    def _turn(self) -> float:
        """One exchange with the server; the answer is how long to wait before the next."""
        try:
            if self._session.stale.is_set():
                answer = self._register(self._held())
                self._stop_tasks(answer.kill, "stopped: the server has given this attempt up", 0.0)
            self._apply(self._exchange())
        except UnreachableError as error:
            return self._failed(error)
        except RefusedError as error:
            return self._refused(error)
        if self._failures:
            log.info("the server answers again")
        self._failures = 0
        self._prune()
        return POLL_SECONDS

    def _exchange(self) -> Wanted:
        if time.monotonic() < self._beat_at:
            return self._session.client.assignments(self._worker)
        wanted = self._session.client.heartbeat(self._beat())
        self._plan_beat(wanted.next_in)
        return wanted

    def _beat(self) -> dict[str, Any]:
        self._seq += 1
        seen = self._probe.device_states([run.holder for run in self._runs.values() if run.holder])
        if seen.changed:
            self._session.stale.set()
        return {
            "worker": self._worker, "epoch": self._session.epoch, "seq": self._seq, "running": self._held(),
            "devices": seen.devices, "strays": seen.strays,
        }  # fmt: skip

    def _plan_beat(self, next_in: float) -> None:
        """±20 %, so that a fleet that started together does not call together."""
        spread = 1 - JITTER + 2 * JITTER * self._chance()
        self._beat_at = time.monotonic() + next_in * spread

    def _apply(self, wanted: Wanted) -> None:
        listed = {(each.task, each.fence) for each in wanted.assignments}
        # One that ended while it is still listed was refused: it is not tried again before it is assigned again.
        self._runs = {key: run for key, run in self._runs.items() if run.alive or key in listed}
        for assignment in wanted.assignments:
            if (assignment.task, assignment.fence) not in self._runs:
                self._start(assignment)
        self._stop_tasks(wanted.cancel, "cancelled")
        self._stop_tasks(wanted.kill, "stopped: the server has given this attempt up", 0.0)

    def _start(self, assignment: Assignment, record: TaskRecord | None = None) -> None:
        run = TaskRun(self._session, self._folder, self._environments, assignment, record)
        self._runs[assignment.task, assignment.fence] = run
        log.info("%s: %s", run.name, "taken up again" if record else "assigned")
        run.start()

    def _stop_tasks(self, tasks: Iterable[int], why: str, grace: float = CANCEL_GRACE_SECONDS) -> None:
        wanted = set(tasks)
        for (task, _), run in self._runs.items():
            if task in wanted:
                run.stop(why, grace)

    def _held(self) -> list[Running]:
        return _running([run.record for run in self._runs.values() if run.alive and run.record])

    def _failed(self, error: UnreachableError) -> float:
        if not self._failures:
            log.warning("%s; what runs goes on, trying again", error)
        self._failures += 1
        return min(SLOWEST_SECONDS, POLL_SECONDS * 2.0 ** min(self._failures, 10)) * self._chance()

    def _refused(self, error: RefusedError) -> float:
        if error.code == "stale_epoch":
            self._session.stale.set()
            return 0.0
        if error.status in (401, 403) and not any(run.alive for run in self._runs.values()):
            raise CredentialRefusedError(str(error)) from error
        if not self._failures:
            log.error("the server refuses: %s", error)
        self._failures += 1
        return SLOWEST_SECONDS

    def _prune(self) -> None:
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + PRUNE_SECONDS
            self._folder.prune({run.record.private for run in self._runs.values() if run.record})

    def _end(self) -> None:
        """Say goodbye, stop every task, report what a few seconds allow; the rest is kept for the next start."""
        goodbye = threading.Thread(target=self._say_goodbye, daemon=True)
        goodbye.start()
        for run in self._runs.values():
            run.stop("stopped: the agent of this host was stopped", END_GRACE_SECONDS, STOPPED)
        deadline = time.monotonic() + END_GRACE_SECONDS + END_REPORT_SECONDS
        for run in self._runs.values():
            run.join(max(0.0, deadline - time.monotonic()))
        goodbye.join(max(0.0, deadline - time.monotonic()))
        self._session.end()
        for run in self._runs.values():
            run.join(0.5)
        self._probe.close()

    def _say_goodbye(self) -> None:
        if not self._session.epoch:
            return
        self._seq += 1
        beat = {
            "worker": self._worker, "epoch": self._session.epoch, "seq": self._seq, "running": self._held(),
            "devices": [], "leaving": True,
        }  # fmt: skip
        try:
            self._session.client.heartbeat(beat)
        except (RefusedError, UnreachableError) as error:
            log.info("the server was not told of the end: %s", error)

    def _said_hello(self, answer: Registered, probed: Probed) -> None:
        document = probed.document
        devices = document["devices"]
        count = "an unknown number of" if devices is None else len(devices)
        log.info(
            "registered as %s (%s devices, Python %s), session %s",
            self._worker,
            count,
            document["python"],
            answer.epoch,
        )
        for note in probed.notes:
            log.warning("unknown: %s", note)


def _running(records: Iterable[TaskRecord]) -> list[Running]:
    return [Running(task=record.task, fence=record.fence) for record in records]
