"""Who waits for what a person holds: the waiting jobs that could start on it, each by itself, if it were let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from scheduler.core.fleet import WorkerView
from scheduler.core.spec import Origin, QueueEntry
from scheduler.models import Job, PassState, SchedulingPass, Task
from scheduler.queue import take_queue
from scheduler.services.one_worker import left_by, reasons_on, turns
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
    """As the latest pass left the job's workers: a fixed number of queries; what they cost grows with the queue.

    A gang is left out: it needs more than what one person holds.
    """
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None or not tasks:
        return Waiters(0, ())
    waiting = {queued.pk: queued.entry for queued in take_queue() if queued.entry}
    alone = {pk: entry for pk, entry in waiting.items() if not entry.spec.distributed}
    ids = {entry.job_id for entry in waiting.values()}
    views = [view for task in tasks if (view := left_by(row, task.worker.name, ids))]
    closed = {pk: turn.closed for pk, turn in turns().items()}
    able = [pk for pk, entry in alone.items() if _starts(entry, views, job.job_id, closed.get(pk, frozenset()))]
    seen = seen_by(user).filter(pk__in=able[:MOST_LOOKED_AT]).order_by("submitted_at", "pk")
    found = [Waiter(*values) for values in seen.values_list("job_id", "name", "submitted_at")]
    return Waiters(len(found), tuple(found[:MOST_NAMED]))


def _starts(entry: QueueEntry, views: Sequence[WorkerView], holder: str, closed: frozenset[Origin]) -> bool:
    """Whether it is this holder's tasks, and nothing else, that keep a job off one of these workers."""
    for view in views:
        without = replace(view, tasks=tuple(task for task in view.tasks if task.job_id != holder))
        if not reasons_on(entry, without, closed) and reasons_on(entry, view, closed):
            return True
    return False
