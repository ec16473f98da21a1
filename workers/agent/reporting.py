"""What an agent owes the server of each task: its output, its result, its release. Told until it is heard."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from workers.agent import outputs
from workers.agent.client import AgentClient, Finish
from workers.agent.folder import TaskRecord
from workers.agent.log_sender import LogSender
from workers.agent.messages import Result
from workers.agent.transport import RefusedError, Retry, UnreachableError

T = TypeVar("T")
log = logging.getLogger(__name__)

DENIED_SECONDS = 5.0
"""Between two tries while the server denies this worker, which may be a mistake that somebody puts right."""
REVOKED = "credential_revoked"


class Session:
    """This agent's standing with the server, shared by all its tasks."""

    def __init__(self, client: AgentClient) -> None:
        self.client = client
        self.ending = threading.Event()
        """Set when there is no more time to tell the server anything."""
        self.stale = threading.Event()
        """Set by whoever hears that the epoch is over; the loop registers anew."""
        self.revoked = threading.Event()
        """Set by whoever hears that this worker is not trusted any more; the loop ends everything."""
        self.retry = Retry(self.ending.wait)
        self._epoch = 0
        self._changed = threading.Condition()

    @property
    def epoch(self) -> int:
        """The number of the present session; 0 before the first."""
        return self._epoch

    def renew(self, epoch: int) -> None:
        """A session has begun, or goes on."""
        with self._changed:
            self._epoch = epoch
            self.stale.clear()
            self._changed.notify_all()

    def end(self) -> None:
        """Whoever waits gives up."""
        self.ending.set()
        with self._changed:
            self._changed.notify_all()

    def call(self, report: Callable[[int], T]) -> T:
        """`report(epoch)`, and again under the next session where this one is over. Raises as the transport does.

        A server that denies the worker is asked again: what runs is not ended for a mistake. Only where it says that
        the credential was revoked, this is final.
        """
        while True:
            try:
                return report(self._epoch)
            except RefusedError as error:
                self._wait_after(error)
            if self.ending.is_set():
                raise UnreachableError("the session is over")

    def _wait_after(self, error: RefusedError) -> None:
        if error.code == REVOKED:
            self.revoked.set()
            raise error
        if error.code == "stale_epoch":
            with self._changed:
                self.stale.set()
                self._changed.wait_for(lambda: not self.stale.is_set() or self.ending.is_set())
        elif error.status in (401, 403):
            self.ending.wait(DENIED_SECONDS)
        else:
            raise error


def report(session: Session, record: TaskRecord, result: Callable[[], Result], gone: Callable[[], None]) -> None:
    """Hand over the output as it comes, then the result; the devices only once every process is gone.

    `result` is asked once the output has ended, `gone` waits for the processes. Output that the server has no room for
    now is handed over afterwards.
    """
    sender = LogSender(session, record)
    sender.send(record.result)
    told = result()
    finish = Finish(
        result=told, log_size=sender.sent, log_sha256=sender.digest(), log_total=sender.total,
        outputs_path=outputs.something_in(record.outputs),
    )  # fmt: skip
    task, fence, retry = record.task, record.fence, session.retry
    try:
        session.call(lambda epoch: session.client.finish(task, fence, epoch, finish, retry=retry))
    except RefusedError as error:
        if error.code != "already_finished":
            raise
        log.warning("task %s (%s): another result stands already", task, record.job_id)
    gone()
    session.call(lambda epoch: session.client.release(task, fence, epoch, retry=retry))
    record.released = True
    record.save()
    hand_over_rest(session, record, sender)


def hand_over_rest(session: Session, record: TaskRecord, sender: LogSender | None = None) -> None:
    """What the server did not take before the release, and what the task left; then the task can be forgotten."""
    (sender or LogSender(session, record)).send_rest()
    outputs.upload(session, record)
    record.remove()


def release_only(session: Session, record: TaskRecord) -> None:
    """The server no longer knows this attempt, and nothing of it is left: say that its devices are free, forget it."""
    with suppress(RefusedError):
        session.call(
            lambda epoch: session.client.release(record.task, record.fence, epoch, retry=session.retry)
        )  # fmt: skip
    record.remove()
