"""Files in, decisions out: the real core over a given fleet and queue, without server, database or Django."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from scheduler.core.checklist import checklist
from scheduler.core.codec import decision_to_document, reason_to_document
from scheduler.core.decision import Candidate, SchedulingDecision
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.core.reading import quoted
from scheduler.core.rollup import left_over
from scheduler.core.scene import Scene
from scheduler.core.schedule import run_pass
from scheduler.core.spec import QueueEntry
from scheduler.core.why import Grounds, Why, to_document, why
from scheduler.core.why_not import WhyNot, why_not
from scheduler.core.windows import seen_at
from scheduler.documents import read_located
from scheduler.memory import no_search_for_cycles

T = TypeVar("T")

LARGE_FLEET = 50
"""Above so many workers the candidates of a decision are written in groups."""


class WrongDocumentsError(Exception):
    """Files that cannot be used; `complaints` are lines for people: file, place, field, what is wrong."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        super().__init__("\n".join(complaints))


@dataclass(frozen=True, slots=True)
class Given:
    """A fleet and a queue as read."""

    fleet: Fleet
    queue: tuple[QueueEntry, ...]


def read_given(workers: Path, jobs: Path, at: datetime | None = None) -> Given:
    """Both files; raises `WrongDocumentsError` with everything that is wrong in either.

    `at` is the instant from which upcoming reservations are looked at; without it the latest that a worker's document
    states as `seen_at`, and where none does, the present one.
    """
    views, entries = _File(workers, _worker, "id"), _File(jobs, _entry, "job_id")
    complaints = (*views.complaints(), *entries.complaints())
    if complaints:
        raise WrongDocumentsError(complaints)
    workers_read = sorted(views.values.values(), key=lambda worker: worker.id)
    stated = at or max((view.at for view in workers_read if view.at is not None), default=None)
    fleet = Fleet(tuple(seen_at(workers_read, stated or datetime.now(UTC))))
    return Given(fleet, tuple(entries.values.values()))


def decide(given: Given) -> Iterator[tuple[QueueEntry, SchedulingDecision]]:
    """One pass, each decision as soon as it is made, in queue order."""
    with no_search_for_cycles():
        for result in run_pass(given.queue, given.fleet):
            yield result.entry, result.decision


@dataclass(frozen=True, slots=True)
class Turn:
    """One job's turn in a pass: its decision, and the fleet less what the jobs before it were given."""

    entry: QueueEntry
    decision: SchedulingDecision
    fleet: Fleet


def turn_of(job_id: str, given: Given) -> Turn:
    """That job's turn; KeyError where the queue has no such job."""
    before: list[tuple[QueueEntry, SchedulingDecision]] = []
    for entry, decision in decide(given):
        if entry.job_id == job_id:
            return Turn(entry, decision, left_over(given.fleet, before))
        if decision.assignments:
            before.append((entry, decision))
    raise KeyError(job_id)


def explained(turn: Turn, grouping: str) -> Why:
    """Everything there is to say of that turn. Raises ValueError for a grouping that is none."""
    return why(Grounds(scene=Scene(turn.entry, turn.fleet), decision=turn.decision, grouping=grouping))


def decision_document(decision: SchedulingDecision, given: Given) -> dict[str, object]:
    """The decision as it is printed: grouped where the fleet is large."""
    return decision_to_document(decision, grouped=len(given.fleet.workers) > LARGE_FLEET)


def _worker(document: object, number: int) -> tuple[str, WorkerView]:
    worker = parse_worker(document)
    return worker.id, worker


def _entry(document: object, number: int) -> tuple[str, QueueEntry]:
    entry = parse_queue_entry(document, position=number)
    return entry.job_id, entry


def read_pair(worker: Path, job: Path, at: datetime | None = None) -> tuple[QueueEntry, WorkerView]:
    """One job and one worker; raises `WrongDocumentsError`, also for files that hold more or less than one."""
    given = read_given(worker, job, at)
    held = ((worker, len(given.fleet.workers), "worker"), (job, len(given.queue), "job"))
    wrong = tuple(f"{path}: found {number:,} {what}s; expected one" for path, number, what in held if number != 1)
    if wrong:
        raise WrongDocumentsError(wrong)
    return given.queue[0], given.fleet.workers[0]


def why_not_alone(entry: QueueEntry, worker: WorkerView) -> WhyNot:
    """Every check of one pair, as if no other worker existed."""
    reasons = tuple(reason for check in checklist(entry, worker) for reason in check.reasons)
    return why_not(entry, worker, Candidate(worker=worker.id, reasons=reasons))


def checks_document(entry: QueueEntry, worker: WorkerView, found: WhyNot) -> dict[str, object]:
    """Every check of one pair, for programs."""
    return {
        "version": 1,
        "job_id": entry.job_id,
        "worker": worker.id,
        "verdict": str(found.verdict),
        "lead": found.lead,
        "checks": [
            {
                "code": check.code.text,
                "kind": str(check.code.kind),
                "status": str(check.status),
                "required": line.required or None,
                "actual": line.actual or None,
                "reasons": [reason_to_document(reason) for reason in check.reasons],
                "why_not_asked": check.why_not_asked or None,
            }
            for check, line in zip(checklist(entry, worker), found.checks, strict=True)
        ],
        "on_the_worker": to_document(found.on_the_worker),
        "in_the_job": to_document(found.in_the_job),
    }


class _File(Generic[T]):
    """The documents of one file by id, and what is wrong with them."""

    def __init__(self, path: Path, parse: Callable[[object, int], tuple[str, T]], id_field: str) -> None:
        self.path = path
        self.values: dict[str, T] = {}
        self._wrong: list[tuple[str, Problem]] = []
        self._read(parse, id_field)

    def complaints(self) -> Iterator[str]:
        """What is wrong, a line each."""
        for place, problem in self._wrong:
            where = f"{self.path}, {place}" if place else str(self.path)
            field = f" {problem.path}:" if problem.path else ""
            yield f"{where}:{field} found {problem.found}; expected {problem.expected}"

    def _read(self, parse: Callable[[object, int], tuple[str, T]], id_field: str) -> None:
        try:
            documents = read_located(self.path)
        except DocumentError as error:
            self._wrong += [("", problem) for problem in error.problems]
            return
        places: dict[str, str] = {}
        for number, located in enumerate(documents, 1):
            try:
                name, value = parse(located.data, number)
            except DocumentError as error:
                self._wrong += [(located.place, problem) for problem in error.problems]
                continue
            if name in places:
                found = f"{quoted(name)}, which {places[name]} has too"
                self._wrong.append((located.place, Problem(id_field, found, "an id that stands only once")))
            places[name] = located.place
            self.values[name] = value
