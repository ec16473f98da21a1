"""One task on this host, from claim to release, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

import psutil

from workers.agent import command
from workers.agent.client import Assignment, Cause, Claim, Result
from workers.agent.command import Environment, StartFailedError
from workers.agent.device_use import Holder
from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.processes import TaskProcess, end_all
from workers.agent.reporting import Session, give_up, report
from workers.agent.spool import Spool
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 10.0
AGENT_ENDED = Cause(code="agent_ended", detail="its agent ended while it ran; how it would have ended is not known")
AGENT_FAILED = Cause(code="agent_failed", detail="its agent failed and ended it; the agent's log has the details")
BARRIER_SECONDS = 1.0
"""How often a claim is asked again while the others of its gang are not ready."""


class TaskRun:
    """A task that this agent answers for."""

    def __init__(
        self, session: Session, folder: AgentFolder, environments: Mapping[str, Environment], assignment: Assignment,
        record: TaskRecord | None = None,
    ) -> None:  # fmt: skip
        self.assignment = assignment
        self._session = session
        self._folder = folder
        self._environments = environments
        self._record = record
        self._spool: Spool | None = None
        self._process: TaskProcess | None = None
        self._devices: tuple[tuple[int, str | None], ...] = ()
        self._stop_wanted: tuple[str, float, Cause | None] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"task-{assignment.task}", daemon=True)

    @property
    def name(self) -> str:
        """For the agent's own log."""
        return f"task {self.assignment.task} ({self.assignment.job_id})"

    @property
    def alive(self) -> bool:
        """Whether anything is left to do for it."""
        return self._thread.is_alive()

    @property
    def record(self) -> TaskRecord | None:
        """What is written down of it, once it has been claimed."""
        return self._record

    @property
    def holder(self) -> Holder | None:
        """What it is and holds, for telling whose the processes on a device are."""
        if self._record is None:
            return None
        sessions = (self._record.pid,) if self._record.pid else ()
        return Holder(task=self._record.task, tag=self._record.tag, sessions=sessions, devices=self._devices)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def stop(self, why: str, grace: float = CANCEL_GRACE_SECONDS, cause: Cause | None = None) -> None:
        """End the command, or never start it. `cause` tells the server of an end that it did not ask for."""
        with self._lock:
            self._stop_wanted = self._stop_wanted or (why, grace, cause)
            if self._process:
                self._process.stop(*self._stop_wanted)

    def _run(self) -> None:
        try:
            if self._record is None:
                self._execute()
            else:
                self._recover(self._record)
        except RefusedError as error:
            log.warning("%s: the server refuses it: %s", self.name, error)
            self._abandon()
        except UnreachableError as error:
            log.warning("%s: not all of it could be reported: %s", self.name, error)
        except Exception:
            log.exception("%s: the agent failed", self.name)
            self.stop("stopped: the agent failed", 0.0, AGENT_FAILED)
        finally:
            if self._spool and (self._process is None or self._process.ended.is_set()):
                self._spool.close()

    def _execute(self) -> None:
        claim = self._claim()
        if claim is None:
            return
        self._devices = claim.devices
        record = self._record = self._folder.new_task(
            task=claim.task, fence=claim.fence, job_id=claim.job_id, attempt=claim.attempt, rank=claim.rank
        )
        spool = self._spool = record.spool()
        process = self._begin(claim, record, spool)
        if process:
            self._tell_started(record, process, claim.workdir or record.private)
        report(self._session, record, spool, process)

    def _claim(self) -> Claim | None:
        """The task to run, once all of its gang are ready; none where the agent ends before that."""
        session, task, fence = self._session, self.assignment.task, self.assignment.fence
        while True:
            claim = session.call(lambda epoch: session.client.claim(task, fence, epoch, retry=session.retry))
            if claim.go or self._stop_wanted:
                return claim
            if session.ending.wait(BARRIER_SECONDS):
                return None

    def _begin(self, claim: Claim, record: TaskRecord, spool: Spool) -> TaskProcess | None:
        """The running command; none where it did not start, and the record then has the result."""
        with self._lock:
            try:
                if self._stop_wanted is None:
                    return self._start(claim, record, spool)
                spool.say(f"{self._stop_wanted[0]} before it started")
                result = Result(signal=15, ended_by=self._stop_wanted[2])
                self._ended(record, result, f"{self._stop_wanted[0]} before it started")
            except StartFailedError as error:
                spool.say(error.error.detail)
                self._ended(record, Result(start_error=error.error), f"not started: {error.error.detail}")
        spool.end()
        return None

    def _start(self, claim: Claim, record: TaskRecord, spool: Spool) -> TaskProcess:
        popen = command.start(claim, environments=self._environments, private=Path(record.private), tag=record.tag)
        process = self._process = TaskProcess(
            popen, spool, record.tag, timeout_s=claim.timeout_s,
            on_end=lambda result: self._ended(record, result, self._end_words(result)),
        )  # fmt: skip
        record.began(popen.pid, _started_at(popen.pid))
        return process

    def _tell_started(self, record: TaskRecord, process: TaskProcess, workdir: str) -> None:
        session = self._session
        session.call(
            lambda epoch: session.client.started(
                record.task, record.fence, epoch, process.pid, workdir, retry=session.retry
            )
        )

    def _recover(self, record: TaskRecord) -> None:
        """Finish what an agent before this one left: end what still runs, report what is known."""
        while not end_left(record):
            log.warning("%s: its processes do not end", self.name)
        spool = self._spool = record.spool()
        if record.result() is None:
            spool.say("stopped: the agent ended while this ran")
            self._ended(record, Result(signal=9, ended_by=AGENT_ENDED), AGENT_ENDED.detail)
        spool.end()
        report(self._session, record, spool, None)

    def _ended(self, record: TaskRecord, result: Result, words: str) -> None:
        """Write down how it ended, and say it in the agent's own log."""
        log.info("%s: ended, %s", self.name, words)
        record.save_result(result)

    def _end_words(self, result: Result) -> str:
        how = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
        if result.timed_out:
            return f"{how} (longer than its time limit)"
        return f"{how} ({self._stop_wanted[0]})" if self._stop_wanted else how

    def _abandon(self) -> None:
        if self._record is None:
            return
        try:
            give_up(self._session, self._record, self._process)
        except UnreachableError as error:
            log.warning("%s: its release could not be reported: %s", self.name, error)


def end_left(record: TaskRecord, grace: float = CANCEL_GRACE_SECONDS) -> bool:
    """End what an earlier agent left running of a task; true when nothing is."""
    same = bool(record.pid) and _started_at(record.pid) == record.process_started_at
    # A number that now belongs to another process must not be taken for the task's session.
    return end_all(record.tag, record.pid if same else -1, grace)


def _started_at(pid: int) -> float:
    """When this process started, by which its number is told from a later use of it; 0 where it is gone."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0
