"""The agent: registers its host, says that it is alive, takes on what the server assigns, and ends in order."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

from workers.agent.beats import Beats
from workers.agent.credentials import Credentials
from workers.agent.folder import TaskRecord
from workers.agent.host import boot_id
from workers.agent.listener import Listener
from workers.agent.messages import Cause, Registered, Running, Wanted
from workers.agent.preparing import Host
from workers.agent.probe import Probe, Probed
from workers.agent.reporting import REVOKED
from workers.agent.runner import CANCEL_GRACE_SECONDS
from workers.agent.shim.clock import now
from workers.agent.tasks import Tasks
from workers.agent.transport import RefusedError, UnreachableError

log = logging.getLogger(__name__)

TICK_SECONDS = 0.25
"""How soon the loop notices what other threads have heard."""
SLOWEST_SECONDS = 15.0
"""The longest pause between two tries while the server cannot be reached."""
CONFLICT_SECONDS = 120.0
"""How long a second machine of the same name may be a memory of the server's only."""
END_GRACE_SECONDS = 2.0
END_REPORT_SECONDS = 1.5
PRUNE_SECONDS = 3600.0
STOPPED = Cause(code="agent_stopped", detail="its agent was stopped and ended it")
REPLACED = "stale_instance"
OnStop = Literal["end", "leave"]


class CredentialRefusedError(Exception):
    """The server no longer takes this worker's credential."""


class Agent:
    """One worker on this host, for as long as `run` runs.

    `on_stop`: whether its tasks end with it, or go on and are taken up by the next agent.
    """

    def __init__(
        self, host: Host, worker: str, probe: Probe, credentials: Credentials, *, on_stop: OnStop = "end",
        about: dict[str, Any] | None = None, chance: Callable[[], float] = random.random,
    ) -> None:  # fmt: skip
        self._host = host
        self._session = host.session
        self._worker = worker
        self._probe = probe
        self._credentials = credentials
        self._on_stop = on_stop
        self._about = about
        self._chance = chance
        self._stopping = threading.Event()
        self._tasks = Tasks(host)
        self._listener = Listener(self._session, worker, self._tasks.apply, self._stopping, chance)
        self._beats = Beats(self._session, worker, self._tasks, probe, chance)
        self._prune_at = 0.0
        self._failures = 0
        self._draining = False

    def stop(self) -> None:
        """Let `run` come to its end; safe in a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Work until `stop`. Raises RefusedError for a refused first registration, CredentialRefusedError later."""
        try:
            if self._first_registration(self._host.folder.left_tasks()):
                self._listener.start()
                while not self._stopping.wait(self._turn()):
                    pass
            self._end()
        finally:
            self._probe.close()

    def _first_registration(self, left: list[TaskRecord]) -> bool:
        """Register, however long the server stays away; false where the agent is stopped before that."""
        patience = time.monotonic() + CONFLICT_SECONDS
        running = [Running(task=record.task, fence=record.fence) for record in left if not record.released]
        while not self._stopping.is_set():
            try:
                answer, asked_at = self._register(running)
            except UnreachableError as error:
                self._stopping.wait(self._failed(error))
            except RefusedError as error:
                # After a sudden restart of this host the server still believes in the boot before.
                if error.code != "machine_conflict" or time.monotonic() > patience:
                    raise
                self._stopping.wait(self._refused(error))
            else:
                self._tasks.take_up(left, answer)
                self._tasks.prolong(answer.leases, answer.holds, asked_at)
                return True
        return False

    def _register(self, running: Iterable[Running]) -> tuple[Registered, float]:
        probed, asked_at = self._probe.read(), now()
        answer = self._session.client.register(
            self._worker, boot_id(), probed.document, running, unknown=probed.unknown, host=self._about,
            instance=self._beats.instance, seq=self._beats.next_seq(),
        )  # fmt: skip
        devices = probed.document["devices"]
        self._host.devices = None if devices is None else frozenset(each["uuid"] for each in devices if each["uuid"])
        self._session.renew(answer.epoch)
        self._beats.plan(answer.next_in)
        self._said_hello(answer, probed)
        return answer, asked_at

    def _turn(self) -> float:
        """What is due; the answer is how long to wait before the next look."""
        try:
            if self._session.revoked.is_set():
                self._end_revoked()
            if self._session.stale.is_set():
                answer, asked_at = self._register(self._tasks.held())
                self._tasks.kill(answer.kill)
                self._tasks.prolong(answer.leases, answer.holds, asked_at)
            if self._beats.is_due:
                self._heartbeat()
        except UnreachableError as error:
            return self._failed(error)
        except RefusedError as error:
            return self._refused(error)
        if self._failures:
            log.info("the server answers again")
        self._failures = 0
        self._prune()
        return min(TICK_SECONDS, self._beats.seconds_left)

    def _heartbeat(self) -> None:
        beat, asked_at = self._beats.body(), now()
        wanted = self._session.client.heartbeat(beat)
        self._beats.plan(wanted.next_in)
        self._tasks.prolong(wanted.leases, wanted.holds, asked_at)
        self._tasks.apply(wanted)
        self._say_if_draining(wanted)
        self._credentials.rotate_if_due(self._session, told=wanted.rotate)

    def _failed(self, error: UnreachableError) -> float:
        if not self._failures:
            log.warning("%s; what runs goes on, trying again", error)
        self._failures += 1
        slowest = min(SLOWEST_SECONDS, max(1.0, 2 * self._beats.pace))
        return min(slowest, 0.5 * 2.0 ** min(self._failures, 10)) * self._chance()

    def _refused(self, error: RefusedError) -> float:
        if error.code == "stale_epoch":
            self._session.stale.set()
            return 0.0
        if error.code == REVOKED:
            self._end_revoked(error)
        if error.code == REPLACED:
            self._end_tasks("another agent speaks for this worker", error)
        if error.status in (401, 403) and not self._tasks.busy:
            raise CredentialRefusedError(str(error)) from error
        if not self._failures:
            log.error("the server refuses: %s", error)
        self._failures += 1
        return min(SLOWEST_SECONDS, max(1.0, 2 * self._beats.pace))

    def _end_revoked(self, error: RefusedError | None = None) -> None:
        """Nobody may use this host through that server any more."""
        self._session.revoked.set()
        self._end_tasks("this worker's credential was revoked", error)

    def _end_tasks(self, why: str, error: RefusedError | None) -> None:
        """End everything that runs, then say why."""
        log.error("%s: its tasks are ended", why)
        self._stopping.set()
        cause = Cause(code="agent_stopped", detail=why)
        seconds = CANCEL_GRACE_SECONDS + END_GRACE_SECONDS + END_REPORT_SECONDS
        self._tasks.end(f"stopped: {why}", CANCEL_GRACE_SECONDS, cause, seconds)
        self._session.end()
        raise CredentialRefusedError(str(error or why)) from error

    def _prune(self) -> None:
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + PRUNE_SECONDS
            self._host.folder.prune(self._tasks.private_folders())

    def _end(self) -> None:
        """Say goodbye; stop every task, or leave it; report what a few seconds allow. The rest is kept on disk."""
        seconds = END_GRACE_SECONDS + END_REPORT_SECONDS
        deadline = time.monotonic() + seconds
        if self._on_stop == "leave":
            self._tasks.leave(END_REPORT_SECONDS)
        if self._on_stop == "end" or not self._tasks.held():
            first = self._goodbye()  # at once, so that nothing more is placed here
            busy = self._tasks.busy
            self._tasks.end("stopped: the agent of this host was stopped", END_GRACE_SECONDS, STOPPED, seconds)
            # Every report since then was a sign of life.
            for each in (first, self._goodbye() if busy else first):
                each.join(max(0.5, deadline - time.monotonic()))
        self._session.end()
        self._tasks.wait(0.5)

    def _goodbye(self) -> threading.Thread:
        saying = threading.Thread(target=self._say_goodbye, daemon=True)
        saying.start()
        return saying

    def _say_goodbye(self) -> None:
        if not self._session.epoch:
            return
        try:
            self._session.client.heartbeat(self._beats.goodbye())
        except (RefusedError, UnreachableError) as error:
            log.info("the server was not told of the end: %s", error)

    def _say_if_draining(self, wanted: Wanted) -> None:
        if wanted.drain != self._draining:
            self._draining = wanted.drain
            log.info("the server gives this worker no more work" if wanted.drain else "this worker takes work again")

    def _said_hello(self, answer: Registered, probed: Probed) -> None:
        document = probed.document
        devices = document["devices"]
        count = "an unknown number of" if devices is None else len(devices)
        log.info(
            "registered as %s (%s devices, Python %s), session %s",
            self._worker,
            count,
            document["python"],
            answer.epoch,
        )
        for note in probed.notes:
            log.warning("unknown: %s", note)
