"""One task's output on its way to the server: from where the server is, until it has all that it takes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from workers.agent.folder import TaskRecord
from workers.agent.messages import Result
from workers.agent.spool import FULL_CHUNK_BYTES
from workers.agent.transport import RefusedError, Retry, UnreachableError, Wait

if TYPE_CHECKING:
    from workers.agent.reporting import Session

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.25
"""Output is handed over at most this often, so that a chatty program is not one call a line."""
FULL_DISK_SECONDS = 5.0
"""How long a server without room may hold up the report of an end."""
CLOSED = frozenset({"log_full", "log_malformed", "log_differs"})
"""The server takes no more of this output; the task goes on without."""
NO_ROOM = 507


class LogSender:
    """Sends what the spool has. `sent` is how much the server has of it."""

    def __init__(self, session: Session, record: TaskRecord) -> None:
        self.sent = 0
        self._session = session
        self._record = record
        self._spool = record.spool()
        self._closed = False

    @property
    def total(self) -> int:
        """Bytes that there are."""
        return self._spool.size

    def digest(self) -> str:
        """SHA-256 of what the server has."""
        return self._spool.digest(self.sent)

    def send(self, result: Callable[[], Result | None]) -> None:
        """Until the end of the output; without waiting for a server that has no room any more once there is a result.

        `result` is the task's, once it has ended.
        """
        shim = self._record.shim
        self._send(lambda: result() is not None or not shim.is_alive(), patient=False)

    def send_rest(self) -> None:
        """All that there is, however long it takes."""
        self._send(lambda: True, patient=True)

    def _send(self, ended: Callable[[], bool], *, patient: bool) -> None:
        while not self._closed:
            chunk = self._spool.next_chunk(self.sent, ended, self._session.ending.wait)
            if not chunk:
                return
            if not self._put(chunk, lambda: not patient and ended()):
                return
            if len(chunk) < FULL_CHUNK_BYTES:
                self._session.ending.wait(BATCH_SECONDS if not ended() else 0.0)

    def _put(self, chunk: bytes, hurried: Callable[[], bool]) -> bool:
        """Whether to go on: not where the log is closed, or where nobody can wait for room."""
        session, record = self._session, self._record
        retry = _WhileThereIsRoom(session.ending.wait, hurried)
        try:
            self.sent = session.call(
                lambda _: session.client.put_log(record.task, record.fence, self.sent, chunk, retry=retry)
            )
        except UnreachableError as error:
            if error.status != NO_ROOM or session.ending.is_set():
                raise
            log.warning("task %s (%s): the server has no room for more output", record.task, record.job_id)
            return False
        except RefusedError as error:
            return self._rewound(error)
        return True

    def _rewound(self, error: RefusedError) -> bool:
        size = int(error.body.get("size", self.sent))
        if error.code in CLOSED:
            log.warning("task %s (%s): no more output is taken: %s", self._record.task, self._record.job_id, error)
            self.sent, self._closed = min(size, self._spool.size), True
            return False
        # Rewind to where the server is; never wait for output that this host does not have.
        if error.status != 416 or size == self.sent or size > self._spool.size:
            raise error
        self.sent = size
        return True


class _WhileThereIsRoom(Retry):
    """Tries on and on, except where the server's disk is full and somebody waits for the end of the task."""

    def __init__(self, wait: Wait, hurried: Callable[[], bool]) -> None:
        super().__init__(wait)
        self._hurried = hurried
        self._since: float | None = None

    def again(self, tried: int, retry_after: float | None, status: int | None = None) -> bool:
        """As any retry; false once the disk has been full for too long."""
        if status == NO_ROOM and self._hurried():
            self._since = time.monotonic() if self._since is None else self._since
            if time.monotonic() - self._since >= FULL_DISK_SECONDS:
                return False
        return super().again(tried, retry_after, status)
