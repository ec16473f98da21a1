"""Leases: how long the host of a job that may be rerun can be out of contact before it is run elsewhere.

A host ends such a task at its own deadline, counted from before it sent the last heartbeat that was acknowledged. The
server counts from when it took that heartbeat, and waits a margin more: so the process is gone before its devices are
free. What nobody would run again has no lease: it goes on, however long its host is away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from scheduler.models import Attempt, AttemptState, Job, Task, TaskState

REPEATED = (AttemptState.LOST, AttemptState.FAILED)
"""Ends of attempts that use up a retry."""
WORTH_WRITING = 0.1
"""A lease is written anew when at least this part of it has passed."""

Running = tuple[int, int]
"""A task's id and its fence, as an agent says that it holds it."""


@dataclass(frozen=True, slots=True)
class Granted:
    """For so many seconds from the call that was answered with this, the task may run."""

    task: int
    seconds: int


def lease_of(job: Job) -> int | None:
    """The seconds of the lease that the next attempt of this job has; None where it would not be rerun on loss."""
    retries = job.spec.get("retries") or {}
    most = int(retries.get("max", 0))
    if most < 1 or "lost" not in retries.get("on", ["lost"]):
        return None
    if job.attempts.filter(state__in=REPEATED).count() >= most:
        return None
    return math.ceil(retries.get("lease_s") or settings.GPULAYER_LEASE_SECONDS)


def begin(job: Job, attempt: Attempt, *, now: datetime) -> int | None:
    """Give the attempt its lease, or extend it, because one of its tasks is claimed. Call it with both locked."""
    if attempt.lease_seconds is None:
        attempt.lease_seconds = lease_of(job)
    if attempt.lease_seconds is not None:
        until = now + timedelta(seconds=attempt.lease_seconds)
        attempt.leased_until = max(until, attempt.leased_until or until)
        attempt.save(update_fields=["lease_seconds", "leased_until"])
    return attempt.lease_seconds


def extend(running: Mapping[int, Sequence[Running]], *, now: datetime) -> tuple[Granted, ...]:
    """Extend the leases of the tasks that workers (by id) say they hold; one that has passed stays passed.

    That of a gang is extended only while all of its hosts are heard of: it has one lease, which all of them keep.
    """
    told = {(worker, *one) for worker, many in running.items() for one in many}
    if not told:
        return ()
    silent = Task.objects.filter(attempt=OuterRef("attempt"), state=TaskState.UNKNOWN)
    rows = Task.objects.filter(
        ~Exists(silent), pk__in={task for _, task, _ in told}, released_at=None, attempt__leased_until__gt=now
    ).exclude(state__in=(TaskState.LOST, TaskState.REVOKED))
    found = rows.values_list(
        "worker_id", "pk", "attempt__fence", "attempt_id", "attempt__lease_seconds", "attempt__leased_until"
    )
    return tuple(
        Granted(task, _extended(attempt, seconds, until, now))
        for worker, task, fence, attempt, seconds, until in found.order_by("pk")
        if (worker, task, fence) in told and seconds is not None and until is not None
    )


def _extended(attempt: int, seconds: int, until: datetime, now: datetime) -> int:
    """The seconds that are granted from now on: what is written down, and never more."""
    wanted = now + timedelta(seconds=seconds)
    if (wanted - until).total_seconds() > seconds * WORTH_WRITING:
        held = Attempt.objects.filter(pk=attempt, leased_until__gt=now, leased_until__lt=wanted)
        if held.update(leased_until=wanted):
            return seconds
    return max(0, math.floor((until - now).total_seconds()))


def over(now: datetime) -> datetime:
    """Leases until this instant are over for the server too: their hosts have ended what they covered."""
    return now - timedelta(seconds=settings.GPULAYER_LEASE_MARGIN_SECONDS)


def passed(tasks: Iterable[Task], attempt: Attempt, now: datetime) -> list[Task]:
    """Of the unreleased tasks of an attempt whose lease is over, those that nobody answers for any more."""
    if attempt.leased_until is None or attempt.leased_until > over(now):
        return []
    # An agent that is there is given the time to report that it ended them.
    patience = over(now) - timedelta(seconds=settings.GPULAYER_CLAIM_SECONDS)
    return [task for task in tasks if task.released_at is None and _is_passed(task, attempt.leased_until, patience)]


def _is_passed(task: Task, until: datetime, patience: datetime) -> bool:
    if task.finished_at is not None:
        return task.worker.liveness != "online"
    return task.state == TaskState.UNKNOWN or until <= patience
