"""Hears from the server between two heartbeats, as soon as there is something to do."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from workers.agent.messages import Wanted
from workers.agent.reporting import REVOKED, Session
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

WAIT_SECONDS = 20.0
"""How long the server may hold an answer back."""
POLL_SECONDS = 1.0
"""How often one asks where the server does not hold its answers back."""
NEWS_SECONDS = 0.25
"""News stays listed until it is acted on: not to be heard again and again meanwhile."""
FAILED_SECONDS = 5.0


class Listener:
    """One thread that asks, as long as `stopping` is not set."""

    def __init__(
        self, session: Session, worker: str, apply: Callable[[Wanted], None], stopping: threading.Event,
        chance: Callable[[], float],
    ) -> None:  # fmt: skip
        self._session = session
        self._worker = worker
        self._apply = apply
        self._stopping = stopping
        self._chance = chance
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Begin. The thread ends by itself; a call that is under way at the stop may outlast it."""
        self._thread.start()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                wanted = self._session.client.assignments(self._worker, WAIT_SECONDS)
                if self._stopping.is_set():
                    return
                self._apply(wanted)
                failures = 0
                pause = _pause(wanted, time.monotonic() - began)
            except UnreachableError:
                failures += 1  # the heartbeats say so
                pause = min(FAILED_SECONDS, 0.5 * 2.0 ** min(failures, 10)) * self._chance()
            except RefusedError as error:
                if error.code == REVOKED:
                    self._session.revoked.set()
                    return
                pause = FAILED_SECONDS
            except Exception:
                if self._stopping.is_set():  # its connection was closed under it
                    return
                log.exception("the agent failed to hear of its tasks")
                pause = FAILED_SECONDS
            self._stopping.wait(pause)


def _pause(wanted: Wanted, lasted: float) -> float:
    """Seconds until the next call."""
    if wanted.is_news:
        return NEWS_SECONDS
    return wanted.next_in or max(0.0, POLL_SECONDS - lasted)
