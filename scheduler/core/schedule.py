"""Where a job runs, or why not: pure functions of the job and the fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from scheduler.core.decision import SchedulingDecision
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.spec import JobSpec, QueueEntry

Workers = Fleet | Iterable[WorkerView]


@dataclass(frozen=True, slots=True)
class PassResult:
    """One job's decision and its place in the pass."""

    position: int
    entry: QueueEntry
    decision: SchedulingDecision


def schedule(
    spec: QueueEntry | JobSpec,
    workers: Workers,
    job_id: str,
    *,
    at: datetime | None = None,
    engine: Engine | None = None,
) -> SchedulingDecision:
    """Decide one job against these workers, whose order doesn't matter; nothing is changed.

    `at` is the instant from which upcoming reservations are looked at, and those that have begun are in force; without
    it the latest that a worker's view states. An engine only makes the same answer come sooner: it knows what it was
    asked before.
    """
    entry = replace(spec, job_id=job_id) if isinstance(spec, QueueEntry) else QueueEntry(job_id=job_id, spec=spec)
    return (engine or Engine()).begin(_listed(workers), at).decide(entry)


def ever_schedulable(spec: QueueEntry | JobSpec, workers: Workers, job_id: str, *, at: datetime | None = None) -> bool:
    """Whether some set of these workers could run the job, whatever their availability."""
    return schedule(spec, workers, job_id, at=at).ever_schedulable


def run_pass(
    queue: Iterable[QueueEntry], workers: Workers, *, at: datetime | None = None, engine: Engine | None = None
) -> Iterator[PassResult]:
    """Decide a queue, first in, first out; what one job is given is gone for those behind it. `at`: as of `schedule`.

    Decisions stay as they were made, however far the pass goes on.
    """
    one_pass = (engine or Engine()).begin(_listed(workers), at)
    for position, entry in enumerate(in_order_of_submission(queue)):
        yield PassResult(position, entry, one_pass.decide(entry))


def in_order_of_submission(queue: Iterable[QueueEntry]) -> tuple[QueueEntry, ...]:
    """By submission, then job id; as listed where one of them doesn't say when it was submitted."""
    entries = tuple(queue)
    if any(entry.submitted_at is None for entry in entries):
        return entries
    return tuple(sorted(entries, key=lambda entry: (_instant(entry.submitted_at), entry.job_id)))


def _instant(submitted_at: str | float | None) -> float:
    if isinstance(submitted_at, str):
        instant = datetime.fromisoformat(submitted_at)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    return submitted_at or 0.0


def _listed(workers: Workers) -> Iterable[WorkerView]:
    return workers.workers if isinstance(workers, Fleet) else workers
