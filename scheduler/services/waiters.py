"""Who waits for what a person holds: the waiting jobs that could start on it, each by itself, if it were let go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models.fields.json import KeyTransform

from scheduler.core.availability import Setting
from scheduler.core.decision import TierStatus
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.spec import Origin, QueueEntry
from scheduler.facts import facts_by_id
from scheduler.models import Job, JobState, PassState, SchedulingPass, Task
from scheduler.queue import take_queue
from scheduler.records import fleet_of
from scheduler.services.ledger import placements_of, seen_by
from scheduler.services.recorded import fleet_after
from scheduler.services.visibility import seen_by as jobs_seen_by

MOST_NAMED = 3
MOST_LOOKED_AT = 500
"""Databases bound the length of a list."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """One of them."""

    job_id: str
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Waiters:
    """How many there are of those that somebody sees, and the first of them in the queue."""

    total: int
    first: tuple[Waiter, ...]


def waiters_for(job: Job, tasks: Sequence[Task], *, user: Any) -> Waiters:
    """As the latest pass left the job's workers: a fixed number of queries; what they cost grows with the queue.

    A gang is left out: it needs more than what one person holds.
    """
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None or not tasks:
        return Waiters(0, ())
    waiting = {queued.pk: queued.entry for queued in take_queue() if queued.entry}
    alone = {pk: entry for pk, entry in waiting.items() if not entry.spec.distributed}
    views = list(_left_by(row, [task.worker.name for task in tasks], {entry.job_id for entry in waiting.values()}))
    closed = _closed_targets()
    able = [pk for pk, entry in alone.items() if _starts(entry, views, job.job_id, closed.get(pk, frozenset()))]
    seen = jobs_seen_by(user).filter(pk__in=able[:MOST_LOOKED_AT]).order_by("submitted_at", "pk")
    found = [Waiter(*values) for values in seen.values_list("job_id", "name", "submitted_at")]
    return Waiters(len(found), tuple(found[:MOST_NAMED]))


def _left_by(row: SchedulingPass, workers: Sequence[str], waiting: Collection[str]) -> Iterator[WorkerView]:
    """These workers as the pass saw them, with what it gave there; what it meant for jobs that still wait was not."""
    records = {worker: record for worker in workers if (record := seen_by(row).get(worker))}
    given = [
        planned
        for planned in placements_of(row)
        if planned.job_id not in waiting and any(worker in records for worker, _ in planned.assignments)
    ]
    yield from fleet_after(given, fleet_of(records, facts_by_id, at=row.started_at)).workers


def _closed_targets() -> Mapping[int, frozenset[Origin]]:
    """The targets that an earlier one keeps closed, as the kept decisions of the waiting jobs have it."""
    kept = Job.objects.filter(state=JobState.QUEUED, decision__isnull=False)
    tiers = kept.values_list("pk", KeyTransform("tiers", "decision__summary"))
    return {
        pk: frozenset(Origin(tier["name"]) for tier in told if tier["status"] == TierStatus.CLOSED)
        for pk, told in tiers
    }


def _starts(entry: QueueEntry, views: Sequence[WorkerView], holder: str, closed: frozenset[Origin]) -> bool:
    """Whether it is this holder's tasks, and nothing else, that keep a job off one of these workers."""
    for view in views:
        without = replace(view, tasks=tuple(task for task in view.tasks if task.job_id != holder))
        if not _kept_off(entry, without, closed) and _kept_off(entry, view, closed):
            return True
    return False


def _kept_off(entry: QueueEntry, view: WorkerView, closed: frozenset[Origin]) -> bool:
    setting = Setting(closed=closed, avoided=frozenset(entry.failed_on) & {view.id})
    return bool(compatibility_reasons(entry, view) or availability_reasons(entry, view, setting))
