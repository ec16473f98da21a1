"""When a task's shim is gone: that nothing of the task is left, and what is told where the shim told nothing."""

from __future__ import annotations

import logging
import signal

from workers.agent.folder import TaskRecord
from workers.agent.messages import Cause, Result
from workers.agent.reporting import Session
from workers.agent.rules import QUARANTINE_SECONDS
from workers.agent.shim import files
from workers.agent.shim.causes import cause
from workers.agent.shim.clock import now
from workers.agent.shim.sweep import members, process, signal_all
from workers.agent.transport import UnreachableError

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.02
LONGEST_LOOK_SECONDS = 1.0


def wait_for_result(session: Session, record: TaskRecord) -> None:
    """Until the shim has said how the task ended, or is gone. Raises UnreachableError where the agent ends first."""
    shim = record.shim
    while shim.result() is None and shim.is_alive():
        if session.ending.wait(LOOK_SECONDS):
            raise UnreachableError("the agent is stopped")


def wait_until_gone(session: Session, record: TaskRecord) -> None:
    """Wait for the shim's own end, then make sure. Raises UnreachableError where the agent ends first."""
    shim, pause = record.shim, LOOK_SECONDS
    while shim.is_alive():
        if session.ending.wait(pause):
            raise UnreachableError("the agent is stopped")
        pause = min(LONGEST_LOOK_SECONDS, pause * 1.5)
    end_all(session, record)


def end_all(session: Session, record: TaskRecord, quarantine_s: float = QUARANTINE_SECONDS) -> None:
    """Kill every process of the task that its shim did not live to end; only then its devices are free.

    Those that outlive that by `quarantine_s` are written down, and their devices reported unhealthy.

    Raises UnreachableError where the agent ends first.
    """
    pause, began, told = LOOK_SECONDS, now(), list[int]()
    while left := members(record.tag, session=_own_session(record)):
        signal_all(left, signal.SIGKILL)
        if session.ending.wait(pause):
            raise UnreachableError("the agent is stopped")
        pause = min(LONGEST_LOOK_SECONDS, pause * 1.5)
        if now() - began >= quarantine_s and left != told:
            told = left
            log.warning("task %s (%s): its processes %s do not die", record.task, record.job_id, left)
            files.write_whole(str(record.folder / files.STUCK), {"pids": left})


def bury(session: Session, record: TaskRecord) -> Result:
    """The result of a task whose shim ended without one: everything of it is ended, and that is said."""
    errors = record.shim.errors()
    if errors:
        log.error("task %s (%s): its shim failed: %s", record.task, record.job_id, errors[-2000:])
    end_all(session, record)
    why = Cause(**cause("shim_ended", _how(record)))
    record.spool().say(f"stopped: {why.detail.partition(': ')[2]}")
    result = Result(signal=int(signal.SIGKILL), ended_by=why)
    record.save_result(result)
    return result


def _how(record: TaskRecord) -> str:
    intent = files.read_json(str(record.folder / files.INTENT)) or {}
    if intent.get("boot_id") not in (None, files.boot_id()):
        return "its host was restarted while it ran; how it would have ended is not known"
    return "what watched over it ended while it ran, and so it was ended; how it would have ended is not known"


def _own_session(record: TaskRecord) -> int:
    """The session of its command; 0 where that number may belong to somebody else by now."""
    started = record.shim.started()
    if started is None or started["boot_id"] != files.boot_id():
        return 0
    found = process(int(started["pid"]))
    return int(started["pid"]) if found is not None and found.start == started["start"] else 0
