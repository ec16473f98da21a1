"""Who waits for what a person holds: the waiting jobs that could start on it, each by itself, if it were let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from scheduler.core.fleet import WorkerView
from scheduler.models import Job, PassState, SchedulingPass, Task
from scheduler.queue import Queued, take_queue
from scheduler.services.not_here import closed_targets, left_by, reasons_on
from scheduler.services.visibility import seen_by

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
    """As the latest pass saw its workers: ten queries at most; what they cost grows with the queue.

    A gang is left out: it needs more than what one person holds.
    """
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None or not tasks:
        return Waiters(0, ())
    queue = [queued for queued in take_queue() if queued.entry and not queued.entry.spec.distributed]
    ids = {queued.job_id for queued in queue}
    views = [view for task in tasks if (view := left_by(row, task.worker.name, ids))]
    closed = closed_targets(queue)
    able = [queued.pk for queued in queue if _starts(queued, views, job, closed.get(queued.pk, frozenset()))]
    seen = seen_by(user).filter(pk__in=able[:MOST_LOOKED_AT]).order_by("submitted_at", "pk")
    found = [Waiter(*values) for values in seen.values_list("job_id", "name", "submitted_at")]
    return Waiters(len(found), tuple(found[:MOST_NAMED]))


def _starts(queued: Queued, views: Sequence[WorkerView], job: Job, closed: frozenset[Any]) -> bool:
    """Whether it is this job's tasks, and nothing else, that keep it off one of these workers."""
    assert queued.entry is not None
    for view in views:
        without = replace(view, tasks=tuple(task for task in view.tasks if task.job_id != job.job_id))
        if not reasons_on(queued.entry, without, closed) and reasons_on(queued.entry, view, closed):
            return True
    return False
