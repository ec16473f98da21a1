"""This worker's credential: kept, replaced by a new one from time to time, forgotten when it is refused."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from workers.agent.folder import AgentFolder
from workers.agent.reporting import Session
from workers.agent.transport import RefusedError, Transport, UnreachableError

log = logging.getLogger(__name__)

LIFE_SECONDS = 30 * 24 * 3600.0
AGAIN_SECONDS = 3600.0
"""Between two tries to replace it."""


class Credentials:
    """Replaces the credential that `transport` speaks with. By the wall clock: a step of it only replaces it sooner."""

    def __init__(
        self, folder: AgentFolder, transport: Transport, worker: str, *, wall: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._transport = transport
        self._worker = worker
        self._wall = wall
        self._tried_at = float("-inf")

    def rotate_if_due(self, session: Session, *, told: bool) -> None:
        """Ask for a new one after thirty days, or when the server says so. A failure is tried again in an hour."""
        since = self._folder.credential_since()
        if since is None:
            return
        age = self._wall() - since
        if (not told and 0 <= age < LIFE_SECONDS) or time.monotonic() - self._tried_at < AGAIN_SECONDS:
            return
        self._tried_at = time.monotonic()
        with suppress(UnreachableError, OSError):
            self._rotate(session)

    def _rotate(self, session: Session) -> None:
        try:
            new = session.client.rotate(session.epoch)
        except RefusedError as error:
            log.warning("the server gives no new credential: %s", error)
            return
        # On disk first: the old one works until the new one is used, but not longer.
        self._folder.keep_credential(self._transport.url, self._worker, new, since=self._wall())
        self._transport.use(new)
        log.info("this worker has a new credential")
