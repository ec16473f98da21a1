"""What the core is told of the rest of the system to explain a decision: instants, and who went ahead."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models.fields.json import KeyTransform

from scheduler.core.blockers import Blockers, blockers
from scheduler.core.passed_over import PassedOver, Started, passed_over
from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry
from scheduler.models import Attempt, Job, Task
from scheduler.queue import take_queue
from scheduler.services.recorded import Recorded

MOST_STARTED = 500
MOST_BEFORE = 200


def scene_of(kept: Recorded) -> Scene:
    """The job's turn in the pass that decided it."""
    return Scene(kept.entry, kept.fleet)


def time_limits() -> dict[str, datetime | None]:
    """When what each job holds ends at the latest, by job id; None where it has no time limit. One query.

    A job of which a task has not started yet is left out: nobody knows when its time begins.
    """
    rows = Task.objects.filter(released_at__isnull=True).values_list(
        "attempt__job__job_id", "started_at", KeyTransform("timeout_s", "attempt__job__spec")
    )
    ends: dict[str, datetime | None] = {}
    unknown: set[str] = set()
    for job_id, started_at, seconds in rows:
        if started_at is None:
            unknown.add(job_id)
        elif seconds is None:
            ends[job_id] = None
        else:
            end, other = started_at + timedelta(seconds=int(seconds)), ends.get(job_id, started_at)
            ends[job_id] = None if other is None else max(end, other)
    return {job_id: end for job_id, end in ends.items() if job_id not in unknown}


def blockers_of(kept: Recorded, scene: Scene | None = None) -> Blockers:
    """What is in the way of the workers that can run the job, as its latest decision saw them."""
    return blockers(scene or scene_of(kept), time_limits())


def passed_over_of(kept: Recorded, *, now: datetime, scene: Scene | None = None) -> PassedOver:
    """Who started on workers that fit the job while it waits: from its submission to `now`, or to its own start."""
    job = kept.row.job
    until = min(now, job.started_at) if job.started_at else now
    return passed_over(
        scene or scene_of(kept), queued_at=job.submitted_at, seen_at=until, started=_started(job, until),
        before=_before(job),
    )  # fmt: skip


def _started(job: Job, until: datetime) -> list[Started]:
    """The latest jobs that were placed in that time and submitted after this one: two queries."""
    attempts = list(
        Attempt.objects.filter(
            created_at__gte=job.submitted_at, created_at__lte=until, job__submitted_at__gt=job.submitted_at
        )
        .select_related("job")
        .order_by("-created_at", "-pk")[:MOST_STARTED]
    )
    places: defaultdict[int, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    tasks = Task.objects.filter(attempt__in=[attempt.pk for attempt in attempts]).order_by("rank")
    for attempt, worker, devices in tasks.values_list("attempt_id", "worker__name", "devices"):
        places[attempt].append((worker, tuple(devices)))
    return [
        Started(
            job_id=attempt.job.job_id, name=attempt.job.name, submitted_at=attempt.job.submitted_at,
            placed_at=attempt.created_at, places=tuple(places[attempt.pk]),
        )
        for attempt in attempts
    ]  # fmt: skip


def _before(job: Job) -> list[QueueEntry]:
    """The first jobs of the queue that stand before this one."""
    before: list[QueueEntry] = []
    for queued in take_queue():
        if queued.pk == job.pk or len(before) >= MOST_BEFORE:
            break
        if queued.entry is not None:
            before.append(queued.entry)
    return before
