"""One task on this host, from claim to release, in a thread of its own."""

from __future__ import annotations

import logging
import threading

from workers.agent.barrier import Barrier
from workers.agent.command import DeclinedError, StartFailedError
from workers.agent.device_use import Holder
from workers.agent.ending import bury, wait_for_result, wait_until_gone
from workers.agent.folder import TaskRecord
from workers.agent.giving_up import abandon, give_back
from workers.agent.messages import Assignment, Cause, Claim, Result, Running
from workers.agent.preparing import Host, prepared
from workers.agent.reporting import hand_over_rest, report
from workers.agent.shim.causes import cause
from workers.agent.shim.sweep import members
from workers.agent.shims import Shim
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

CANCEL_GRACE_SECONDS = 10.0
LOOK_SECONDS = 0.01
AGENT_FAILED = Cause(code="agent_failed", detail="its agent failed and ended it; the agent's log has the details")
STOPPING = "its agent is being stopped"


class TaskRun:
    """A task that this agent answers for."""

    def __init__(self, host: Host, assignment: Assignment, record: TaskRecord | None = None) -> None:
        self.assignment = assignment
        self._host = host
        self._session = host.session
        self._record = record
        self._shim: Shim | None = None
        self._barrier = Barrier(host.session, assignment)
        self._stop_wanted: tuple[str, float, Cause | None] | None = None
        self._given_up = False
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
    def held(self) -> Running | None:
        """As the server is to know of it: claimed, perhaps still waiting for its gang, and not yet released."""
        claimed = not self._record.released if self._record else self._barrier.claimed
        known = self.alive and claimed
        return Running(task=self.assignment.task, fence=self.assignment.fence) if known else None

    @property
    def holder(self) -> Holder | None:
        """What it is and holds, for telling whose the processes on a device are."""
        record = self._record
        if record is None or record.released:
            return None
        sessions = (record.pid,) if record.pid else ()
        return Holder(
            task=record.task, tag=record.tag, sessions=sessions, devices=record.devices, people=record.people
        )  # fmt: skip

    @property
    def stuck(self) -> tuple[int, ...]:
        """Processes of it that do not die."""
        return self._record.shim.stuck() if self._record and self.alive else ()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def stop(
        self, why: str, grace: float = CANCEL_GRACE_SECONDS, cause: Cause | None = None, *, given_up: bool = False
    ) -> None:
        """End the command, or never start it. `cause` tells the server of an end that it did not ask for.

        `given_up`: the server takes no report of it any more.
        """
        with self._lock:
            self._given_up = self._given_up or given_up
            self._stop_wanted = self._stop_wanted or (why, grace, cause)
            self._barrier.stop()
            if self._shim:
                self._shim.stop(*self._stop_wanted)

    def leave(self) -> bool:
        """Let it go on without this agent; true where it has not started, and is given back."""
        with self._lock:
            if self._shim is None:
                self._barrier.decline(STOPPING)
            return self._shim is None

    def extend(self, deadline: float) -> None:
        """Its lease goes on until this instant of the boot clock."""
        self._barrier.extend(deadline)
        if self._shim:
            self._shim.extend(deadline)

    def hold_until(self, instant: float) -> None:
        """A hold ends at this instant of the boot clock."""
        if self._shim:
            self._shim.hold_until(instant)

    def _run(self) -> None:
        try:
            if self._record is None or not self._recover(self._record):
                self._execute()
        except DeclinedError as error:
            give_back(self._host, self.assignment, self._record, error.why)
        except RefusedError as error:
            log.warning("%s: the server refuses it: %s", self.name, error)
            if self._record is not None:
                abandon(self._session, self._record)
        except UnreachableError as error:
            log.warning("%s: not all of it could be reported: %s", self.name, error)
        except Exception as error:
            log.exception("%s: the agent failed", self.name)
            self._after_failure(error)
        finally:
            self._barrier.close()
            if self._record is not None:
                self._host.rules.cgroups.remove(self._record.tag)

    def _execute(self) -> None:
        claim = self._barrier.pass_()
        record = self._record = self._record or self._host.folder.new_task(claim)
        try:
            shim = self._begin(claim, record)
        except StartFailedError as error:
            record.spool().say(error.error.detail)
            record.save_result(Result(start_error=error.error))
            shim = None
        if shim:
            self._until_started(shim)
        self._report(record)

    def _begin(self, claim: Claim, record: TaskRecord) -> Shim | None:
        """The shim that starts the command; none where the task was stopped before that."""
        plan = prepared(self._host, claim, record, self._barrier.deadline)
        with self._lock:
            if self._stop_wanted is None:
                self._barrier.check_port()
                plan["deadline"] = self._barrier.deadline
                self._shim = record.shim
                self._shim.start(plan)
                return self._shim
            why, _, ended_by = self._stop_wanted
        record.spool().say(f"{why} before it started")
        record.save_result(Result(signal=15, ended_by=ended_by))
        return None

    def _until_started(self, shim: Shim) -> None:
        while shim.started() is None and shim.result() is None and shim.is_alive():
            if self._session.ending.wait(LOOK_SECONDS):
                return

    def _recover(self, record: TaskRecord) -> bool:
        """Go on with what an agent before this one left; false where its command was never started."""
        if record.released:
            hand_over_rest(self._session, record)
            return True
        shim = record.shim
        if not shim.is_alive() and record.result() is None and not shim.intended() and not members(record.tag):
            return False
        with self._lock:
            self._shim = shim
            if self._stop_wanted:
                shim.stop(*self._stop_wanted)
        if shim.is_alive():
            self._until_started(shim)
        self._report(record)
        return True

    def _report(self, record: TaskRecord) -> None:
        if self._given_up:
            abandon(self._session, record)
            return
        if why := record.declined():
            raise DeclinedError(why.code, why.detail.partition(": ")[2])
        if started := record.shim.started():
            self._tell_started(record, int(started["pid"]))
        report(self._session, record, lambda: self._result(record), lambda: wait_until_gone(self._session, record))

    def _tell_started(self, record: TaskRecord, pid: int) -> None:
        session = self._session
        session.call(
            lambda epoch: session.client.started(
                record.task, record.fence, epoch, pid, record.workdir, retry=session.retry
            )
        )

    def _result(self, record: TaskRecord) -> Result:
        """How it ended; a shim that ended without saying so leaves that to be found out."""
        wait_for_result(self._session, record)
        result = record.result() or bury(self._session, record)
        log.info("%s: ended, %s", self.name, self._end_words(result))
        return result

    def _end_words(self, result: Result) -> str:
        if result.start_error:
            return f"not started: {result.start_error.detail}"
        how = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
        if result.timed_out:
            return f"{how} (longer than its time limit)"
        return f"{how} ({self._stop_wanted[0]})" if self._stop_wanted else how

    def _after_failure(self, error: Exception) -> None:
        """Give back what cannot have started; end and report what may have."""
        self.stop("stopped: the agent failed", 0.0, AGENT_FAILED)
        record = self._record
        if record is None or not (record.shim.is_alive() or record.shim.intended()):
            give_back(
                self._host,
                self.assignment,
                self._record,
                Cause(**cause("agent_failed", f"its agent failed to start it: {error}")),
            )
            return
        try:
            self._report(record)
        except Exception:
            # All of it is on disk: the next agent goes on from there.
            log.exception("%s: the agent failed again", self.name)
