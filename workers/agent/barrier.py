"""Claiming a task, and waiting with it until all of its gang are claimed."""

from __future__ import annotations

import threading
from contextlib import suppress

from workers.agent.command import DeclinedError
from workers.agent.gangs import Port, pick_port
from workers.agent.messages import Assignment, Claim
from workers.agent.reporting import Session
from workers.agent.shim.clock import now
from workers.agent.transport import RefusedError, UnreachableError

PORT_MISSING = "master_port_missing"
BARRIER_SECONDS = 0.5
"""How often a claim is asked again while the others of its gang are not ready."""


class Barrier:
    """One task's claim. `deadline` is when its lease is over, by the boot clock; None: it has none."""

    def __init__(self, session: Session, assignment: Assignment) -> None:
        self.deadline: float | None = None
        self.claimed = False
        """Whether the server has heard that this agent answers for the task."""
        self._session = session
        self._assignment = assignment
        self._port: Port | None = None
        self._stopped = threading.Event()
        self._declined = ""

    def stop(self) -> None:
        """Wait no longer: the task is not to start, which is told as its end."""
        self._stopped.set()

    def decline(self, why: str) -> None:
        """Wait no longer: the task goes back to the queue."""
        self._declined = why
        self._stopped.set()

    def extend(self, deadline: float) -> None:
        """The lease goes on until this instant; it is never shortened."""
        if self.deadline is not None:
            self.deadline = max(self.deadline, deadline)

    def pass_(self) -> Claim:
        """The claim, once its task may start, or shall not any more. Raises DeclinedError."""
        while True:
            try:
                claim = self._claim()
            except RefusedError as error:
                # That this is the first of a gang is not known before its claim is answered.
                if error.code != PORT_MISSING or self._port is not None:
                    raise
                self._port = self._picked()
                continue
            if self._declined:
                raise DeclinedError("agent_stopping", self._declined)
            if claim.go or self._stopped.is_set():
                return claim
            self._stopped.wait(BARRIER_SECONDS)
            if self._session.ending.is_set():
                raise UnreachableError("the agent is stopped")

    def check_port(self) -> None:
        """Just before the start: raises DeclinedError where somebody has taken the gang's port meanwhile."""
        if self._declined:
            raise DeclinedError("agent_stopping", self._declined)
        if self._port is not None and not self._port.is_free():
            raise DeclinedError("port_taken", f"port {self._port.number} was free and is taken now")

    def close(self) -> None:
        """The task is over: another gang may have its port."""
        if self._port is not None:
            with suppress(OSError):
                self._port.close()

    def _claim(self) -> Claim:
        session, task, fence = self._session, self._assignment.task, self._assignment.fence
        port = self._port.number if self._port else None
        asked_at = 0.0

        def ask(epoch: int) -> Claim:
            nonlocal asked_at
            asked_at = now()  # of the try that is answered: a lease counts from before the call
            return session.client.claim(task, fence, epoch, port, retry=session.retry)

        claim = session.call(ask)
        self.claimed = True
        if claim.lease_seconds is not None:
            self.deadline = max(self.deadline or 0.0, asked_at + claim.lease_seconds)
        return claim

    def _picked(self) -> Port:
        port = pick_port()
        if port is None:
            raise DeclinedError("port_taken", "no port is free for its gang")
        return port
