"""What an agent owes the server of each task: its output, its result, its release. Told until it is heard."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from workers.agent.client import AgentClient
from workers.agent.folder import TaskRecord
from workers.agent.processes import TaskProcess
from workers.agent.spool import Spool
from workers.agent.transport import RefusedError, Retry, UnreachableError

T = TypeVar("T")
log = logging.getLogger(__name__)

BATCH_SECONDS = 0.25
"""Output is handed over at most this often, so that a chatty program is not one call a line."""
LOG_IS_CLOSED = frozenset({"log_full", "log_malformed", "log_differs"})
"""The server takes no more of this output; the task goes on without."""


class Session:
    """This agent's standing with the server, shared by all its tasks."""

    def __init__(self, client: AgentClient) -> None:
        self.client = client
        self.ending = threading.Event()
        """Set when there is no more time to tell the server anything."""
        self.stale = threading.Event()
        """Set by whoever hears that the epoch is over; the loop registers anew."""
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
        """`report(epoch)`, and again under the next session where this one is over. Raises as the transport does."""
        while True:
            try:
                return report(self._epoch)
            except RefusedError as error:
                if error.code != "stale_epoch":
                    raise
            with self._changed:
                self.stale.set()
                self._changed.wait_for(lambda: not self.stale.is_set() or self.ending.is_set())
            if self.ending.is_set():
                raise UnreachableError("the session is over")


def report(session: Session, record: TaskRecord, spool: Spool, process: TaskProcess | None) -> None:
    """Hand over the output as it comes, then the result; the devices only once every process is gone."""
    sent = send_log(session, record, spool)
    if process:
        process.ended.wait()
    result = process.result if process else record.result()
    assert result is not None, "the result is known before the output ends"
    task, fence, retry = record.task, record.fence, session.retry
    try:
        session.call(lambda epoch: session.client.finish(task, fence, epoch, result, sent, retry=retry))
    except RefusedError as error:
        if error.code != "already_finished":
            raise
        log.warning("task %s (%s): another result stands already", task, record.job_id)
    if process:
        process.gone.wait()
    session.call(lambda epoch: session.client.release(task, fence, epoch, retry=retry))
    record.remove()


def give_up(session: Session, record: TaskRecord, process: TaskProcess | None) -> None:
    """The server no longer knows this attempt: end it, say that its devices are free, forget it."""
    if process:
        process.stop("stopped: the server has given this attempt up", grace=0.0)
        process.gone.wait()
    with suppress(RefusedError):
        session.call(
            lambda epoch: session.client.release(record.task, record.fence, epoch, retry=session.retry)
        )  # fmt: skip
    record.remove()


def send_log(session: Session, record: TaskRecord, spool: Spool) -> int:
    """Send output until its end; the answer is how much of it the server has."""
    sent = 0
    while spool.wait_beyond(sent):
        try:
            sent = session.client.put_log(record.task, record.fence, sent, spool.chunk(sent), retry=session.retry)
        except RefusedError as error:
            size = int(error.body.get("size", sent))
            if error.code in LOG_IS_CLOSED:
                log.warning("task %s (%s): no more output is taken: %s", record.task, record.job_id, error)
                return size
            # Rewind to where the server is; never wait for output that this host does not have.
            if error.status != 416 or size == sent or size > spool.size:
                raise
            sent = size
        session.ending.wait(BATCH_SECONDS)
    return sent
