"""Tasks that come to nothing here: given back before their start, or given up by the server."""

from __future__ import annotations

import logging
from contextlib import suppress

from workers.agent.ending import wait_until_gone
from workers.agent.folder import TaskRecord
from workers.agent.messages import Assignment, Cause
from workers.agent.preparing import Host
from workers.agent.reporting import Session, release_only
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

GIVEN_UP = "stopped: the server has given this attempt up"
REVOKED_GRACE_SECONDS = 10.0


def give_back(host: Host, assignment: Assignment, record: TaskRecord | None, why: Cause) -> None:
    """Nothing of it has started: the server finds another place for it."""
    name, session = f"task {assignment.task} ({assignment.job_id})", host.session
    log.info("%s: given back, %s", name, why.detail)
    task, fence = assignment.task, assignment.fence
    try:
        with suppress(RefusedError):
            session.call(lambda epoch: session.client.decline(task, fence, epoch, why, retry=session.retry))
    except UnreachableError as error:
        # Kept on disk, if it was claimed: the next agent goes on from there.
        log.warning("%s: that could not be said: %s", name, error)
        return
    if record is not None:
        record.remove()


def abandon(session: Session, record: TaskRecord) -> None:
    """The server gave this attempt up: end it, say that its devices are free, forget it."""
    try:
        record.shim.stop(GIVEN_UP, REVOKED_GRACE_SECONDS if session.revoked.is_set() else 0.0)
        wait_until_gone(session, record)
        release_only(session, record)
    except UnreachableError as error:
        log.warning("task %s (%s): its release could not be reported: %s", record.task, record.job_id, error)
