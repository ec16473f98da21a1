"""Explanations of kept decisions: the core's answers, told the instants and the rows that it cannot know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models.fields.json import KeyTransform

from scheduler.core.passed_over import PassedOver, Started, passed_over
from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry
from scheduler.core.why import Grounds
from scheduler.core.why_not import WhyNot, why_not
from scheduler.core.words import Clock, in_utc
from scheduler.models import Attempt, Job, JobState, Task
from scheduler.queue import waiting_before
from scheduler.services.copies import left_out
from scheduler.services.readings import reading_of
from scheduler.services.recorded import Recorded
from scheduler.services.visibility import seen_by, seen_ids, sees_all

MOST_STARTED = 500
MOST_BEFORE = 200
MOST_NAMED = 500
"""Databases bound the length of a list."""


def grounds_of(kept: Recorded, job: Job, *, user: Any, now: datetime, grouping: str = "gpu") -> Grounds:
    """What `scheduler.core.why` explains a kept decision from, at the job's turn in the pass that decided it.

    `job` is the decision's job as it is now. Edited job documents leave out what this user cannot
    have of it (`scheduler.services.copies.left_out`), and secrets.
    """
    return Grounds(
        scene=reading_of(kept).scene.beside(_entry_for(kept, job, user)),
        decision=kept.decision,
        grouping=grouping,
        ends=lambda: _time_limits(kept),
        passed_over=lambda scene: _passed_over(job, scene, now, user),
    )


def why_not_on(kept: Recorded, job: Job, worker: str, *, user: Any, clock: Clock = in_utc) -> WhyNot:
    """Every check of a kept decision's job on one worker; KeyError where that fleet had no such worker."""
    view = reading_of(kept).views[worker]
    return why_not(_entry_for(kept, job, user), view, kept.decision.candidate(worker), clock=clock)


def _entry_for(kept: Recorded, job: Job, user: Any) -> QueueEntry:
    """The job's entry, without what this user may not see."""
    hidden = {name: _NOTHING[name] for name in left_out(user, job)}
    return replace(kept.entry, spec=replace(kept.entry.spec, **hidden)) if hidden else kept.entry


_NOTHING: dict[str, Any] = {"env": (), "files": None}


def _time_limits(kept: Recorded) -> dict[str, datetime | None]:
    """When what each job held at that decision ends at the latest, by job id; None where it has no time limit.

    A job of which a task has not started yet is left out: nobody knows when its time begins. One query, and one more
    for every few hundred of those jobs that have ended since.
    """
    at = kept.row.seen_at
    held = Task.objects.filter(attempt__created_at__lte=at)
    ends, unknown = _ends(held.filter(released_at__isnull=True))
    since = {task.job_id for view in kept.fleet.workers for task in view.tasks} - ends.keys() - unknown
    for some in _in_parts(sorted(since)):
        more, not_started = _ends(held.filter(attempt__job__job_id__in=some, released_at__gte=at))
        ends |= more
        unknown |= not_started
    return {job_id: end for job_id, end in ends.items() if job_id not in unknown}


def _ends(tasks: Any) -> tuple[dict[str, datetime | None], set[str]]:
    """The ends of these tasks by job, and the jobs of which one has not started."""
    ends: dict[str, datetime | None] = {}
    unknown: set[str] = set()
    rows = tasks.values_list(
        "attempt__job__job_id", "started_at", "attempt__job__hold_until",
        KeyTransform("timeout_s", "attempt__job__spec"), KeyTransform("hold_s", "attempt__job__spec"),
    )  # fmt: skip
    for job_id, started_at, held_until, limit, hold in rows:
        if started_at is None:
            unknown.add(job_id)
        elif limit is None and hold is None:
            ends[job_id] = None
        else:
            end, other = held_until or started_at + timedelta(seconds=int(limit or hold)), ends.get(job_id, started_at)
            ends[job_id] = None if other is None else max(end, other)
    return ends, unknown


def _in_parts(names: list[str]) -> Iterable[list[str]]:
    return (names[start : start + MOST_NAMED] for start in range(0, len(names), MOST_NAMED))


def _passed_over(job: Job, scene: Scene, now: datetime, user: Any) -> PassedOver:
    """Who started on workers that fit the job while it waited: from its submission to `now`, or to its start or end.

    Only jobs that this user sees are told of.
    """
    until = min(moment for moment in (now, job.started_at, job.finished_at) if moment)
    return passed_over(
        scene, queued_at=job.submitted_at, seen_at=until, started=_started(job, until, user), before=_before(job, user)
    )


def _started(job: Job, until: datetime, user: Any) -> list[Started]:
    """The latest jobs that were placed in that time and submitted after this one: two queries."""
    later = Attempt.objects.filter(
        job__pk__gt=job.pk, job__submitted_at__gt=job.submitted_at, created_at__gte=job.submitted_at,
        created_at__lte=until,
    )  # fmt: skip
    if not sees_all(user):
        later = later.filter(job__in=seen_by(user))
    rows = later.order_by("-created_at", "-pk").values_list(
        "pk", "job__job_id", "job__name", "job__submitted_at", "created_at"
    )[:MOST_STARTED]
    attempts = list(rows)
    places: defaultdict[int, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    tasks = Task.objects.filter(attempt__in=[row[0] for row in attempts]).order_by("rank")
    for attempt, worker, devices in tasks.values_list("attempt_id", "worker__name", "devices"):
        places[attempt].append((worker, tuple(devices)))
    return [
        Started(job_id=job_id, name=name, submitted_at=submitted, placed_at=placed, places=tuple(places[pk]))
        for pk, job_id, name, submitted, placed in attempts
    ]


def _before(job: Job, user: Any) -> list[QueueEntry]:
    """The first jobs of the queue that stand before this one; none where it waits no longer."""
    if job.state != JobState.QUEUED:
        return []
    before = [queued.entry for queued in waiting_before(job, most=MOST_BEFORE) if queued.entry is not None]
    if sees_all(user):
        return before
    seen = seen_ids(user, (entry.job_id for entry in before))
    return [entry for entry in before if entry.job_id in seen]
