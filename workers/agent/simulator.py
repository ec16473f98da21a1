"""Keeps a whole fleet of simulated workers alive through the agents' interface, from one process."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workers.agent.client import AgentClient, Document, Wanted, registration
from workers.agent.simulated_tasks import SimulatedTasks
from workers.agent.transport import RefusedError, Retry, UnreachableError

log = logging.getLogger(__name__)

REGISTERED_AT_ONCE = 200
BEATS_AT_ONCE = 2000
POLL_SECONDS = 1.0
BEAT_SECONDS = 10.0
"""Until the server says otherwise."""
END_SECONDS = 3.0
NOT_A_FACT = ("tasks", "state_since", "state_note")
"""What a document may say of a moment that is over."""


class FleetRefusedError(Exception):
    """The server refuses some of the fleet's documents; one line for each."""


@dataclass(slots=True)
class _Worker:
    name: str
    facts: dict[str, Any]
    epoch: int = 0

    @property
    def offline(self) -> bool:
        """Whether its document has it switched off: it is registered, and never heard of again."""
        state = self.facts.get("state")
        return "offline" in (state if isinstance(state, list) else [state])


class Simulator:
    """A fleet from worker documents, for as long as `run` runs."""

    def __init__(self, client: AgentClient, documents: Sequence[Document]) -> None:
        self._client = client
        self._workers = {str(each["id"]): _Worker(str(each["id"]), _facts(each)) for each in documents}
        self._boot_id = f"simulated-{uuid.uuid4()}"
        self._stopping = threading.Event()
        self._retry = Retry(self._stopping.wait)
        self._stale: set[str] = set()
        self._seq = 0
        self._beat_at = 0.0
        self._failures = 0
        self.tasks = SimulatedTasks(client, lambda name: self._workers[name].epoch, self._stale.add)

    @property
    def online(self) -> int:
        """How many are kept alive."""
        return sum(1 for worker in self._workers.values() if worker.epoch and not worker.offline)

    def stop(self) -> None:
        """Let `register` and `run` come to their end; safe in a signal handler."""
        self._stopping.set()

    def register(self, progress: Callable[[int], None]) -> None:
        """Register everyone, telling how many are. Raises FleetRefusedError with every refusal."""
        names, refusals = list(self._workers), []
        for start in range(0, len(names), REGISTERED_AT_ONCE):
            if self._stopping.is_set():
                return
            refusals += self._register(names[start : start + REGISTERED_AT_ONCE])
            progress(min(start + REGISTERED_AT_ONCE, len(names)))
        if refusals:
            raise FleetRefusedError("\n".join(refusals))
        self._plan_beat(BEAT_SECONDS)

    def run(self, told: Callable[[], None]) -> None:
        """Keep everyone alive until `stop`; `told` is called after each exchange with the server."""
        while not self._stopping.wait(self._turn()):
            told()

    def end(self) -> None:
        """Say goodbye for everyone, and end what still lasts."""
        self._stopping.set()
        goodbye = threading.Thread(target=self._goodbye, daemon=True)
        goodbye.start()
        deadline = time.monotonic() + END_SECONDS
        self.tasks.stop(END_SECONDS)
        goodbye.join(max(0.0, deadline - time.monotonic()))

    def _register(self, names: Sequence[str]) -> list[str]:
        running = self.tasks.held_by()
        bodies = [registration(name, self._boot_id, self._workers[name].facts, running.get(name, ())) for name in names]
        refusals = []
        for answer in self._client.register_fleet(bodies, retry=self._retry):
            # One that is refused is left alone from now on.
            self._workers[str(answer["worker"])].epoch = int(answer.get("epoch") or 0)
            refusals += _refusal(answer) if answer.get("problem") else []
        return refusals

    def _turn(self) -> float:
        try:
            self._register_stale()
            wanted = self._exchange()
        except (UnreachableError, RefusedError) as error:
            if not self._failures:
                log.warning("%s; trying again", error)
            self._failures += 1
            return min(15.0, 2.0 ** min(self._failures, 10)) * random.random()  # noqa: S311 (jitter)
        if self._failures:
            log.info("the server answers again")
        self._failures = 0
        self.tasks.assign(wanted.assignments)
        self.tasks.cancel(wanted.cancel)
        self.tasks.turn()
        return POLL_SECONDS

    def _register_stale(self) -> None:
        names = list(self._stale)
        for start in range(0, len(names), REGISTERED_AT_ONCE):
            for refusal in self._register(names[start : start + REGISTERED_AT_ONCE]):
                log.warning("%s", refusal)
        self._stale.difference_update(names)

    def _exchange(self) -> Wanted:
        if time.monotonic() < self._beat_at:
            return self._client.assignments()
        self._seq += 1
        beats = self._beats()
        answers = [self._client.heartbeat_fleet(beats[at : at + BEATS_AT_ONCE]) for at in _starts(beats)]
        for answer in answers:
            self._stale.update(answer.stale)
        self._plan_beat(max((answer.next_in for answer in answers), default=BEAT_SECONDS))
        return Wanted(
            assignments=tuple(each for answer in answers for each in answer.assignments),
            cancel=tuple(each for answer in answers for each in answer.cancel),
        )

    def _beats(self, **more: object) -> list[Document]:
        running = self.tasks.held_by()
        return [
            {"worker": each.name, "epoch": each.epoch, "seq": self._seq, "running": running.get(each.name, []), **more}
            for each in self._workers.values()
            if each.epoch and not each.offline
        ]

    def _plan_beat(self, next_in: float) -> None:
        # Always early, never late: one call speaks for the whole fleet.
        self._beat_at = time.monotonic() + next_in * (0.8 + 0.2 * random.random())  # noqa: S311 (jitter)

    def _goodbye(self) -> None:
        self._seq += 1
        beats = self._beats(leaving=True)
        try:
            for at in _starts(beats):
                self._client.heartbeat_fleet(beats[at : at + BEATS_AT_ONCE])
        except (UnreachableError, RefusedError) as error:
            log.warning("the server was not told of the end: %s", error)


def _facts(document: Document) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in NOT_A_FACT}


def _starts(beats: Sequence[Document]) -> range:
    return range(0, len(beats), BEATS_AT_ONCE)


def _refusal(answer: Document) -> list[str]:
    problem = answer["problem"]
    details = [
        f"{each['path']}: found {each['found']}; expected {each['expected']}" for each in problem.get("problems") or ()
    ]
    return [f"{answer['worker']}: {line}" for line in details or [problem["detail"]]]
