"""Decisions, passes and events that may go.

A job's first and latest decision stay as long as the job does, with the passes that it takes to see them again; all
of a job that is not over stays, and so does every event that is not older than the audit asks for. Events go in whole
sealed stretches, so that those that are left can still be checked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, ProtectedError, Q, QuerySet

from scheduler.models import Attempt, Decision, Event, Job, Kept, PassState, SchedulingPass, Task
from scheduler.models.jobs import JOB_OVER
from workers.services.trail_removal import is_needed, remove, stretches

BATCH = 200


def old_decisions(now: datetime) -> Iterator[int]:
    """Remove decisions of jobs that are over, but for the first and the latest of each: old ones, or too many."""
    limit = settings.GPULAYER_KEEP["decisions"]
    over = Decision.objects.filter(job__state__in=JOB_OVER).exclude(kept=Kept.FIRST)
    spare = over.exclude(pk=F("job__decision_id"))
    excess = Decision.objects.count() - limit.most if limit.most else 0
    while excess > 0 and (gone := _delete(spare.order_by("made_at", "pk")[: min(BATCH, excess)])):
        excess -= gone
        yield gone
    if limit.days:
        old = spare.filter(job__finished_at__lt=now - timedelta(days=limit.days))
        while gone := _delete(old.order_by("pk")[:BATCH]):
            yield gone


def old_passes(now: datetime) -> Iterator[int]:
    """Remove passes that no decision needs: whatever follows the last one needed, up to the next whole view."""
    limit = settings.GPULAYER_KEEP["passes"]
    excess = SchedulingPass.objects.count() - limit.most if limit.most else 0
    oldest = now - timedelta(days=limit.days) if limit.days else None
    needed = list(_needed())
    for start, end, began_next in _stretches():
        if excess <= 0 and (oldest is None or began_next >= oldest):
            return
        last = bisect_left(needed, end) - 1
        spare_from = needed[last] + 1 if last >= 0 and needed[last] >= start else start
        spare = SchedulingPass.objects.filter(number__gte=spare_from, number__lt=end).exclude(state=PassState.RUNNING)
        while gone := _delete(spare.order_by("-number")[:BATCH]):  # the newest first: the others need the older ones
            excess -= gone
            yield gone


def old_events(now: datetime) -> Iterator[int]:
    """Remove sealed stretches of events past their days, or too many, the oldest first.

    One in which a job that is not over has a part stays, and so does one that tells of a removal still to be known.
    """
    limit = settings.GPULAYER_KEEP["events"]
    audited = now - timedelta(days=settings.GPULAYER_AUDIT_DAYS)
    oldest = min(audited, now - timedelta(days=limit.days)) if limit.days else None
    excess = Event.objects.count() - limit.most if limit.most else 0
    for stretch in stretches():
        events = list(stretch.rows.only("at", "subject_kind", "subject"))
        newest = max((event.at for event in events), default=audited)
        if not ((oldest and newest < oldest) or (newest < audited and len(events) <= excess)):
            return
        if not _live(events) and not is_needed(stretch):
            gone = remove(stretch, now=now)
            excess -= gone
            yield gone


def _stretches() -> Iterator[tuple[int, int, datetime]]:
    """First number, the next stretch's first number, and when that began; the newest stretch is none of these."""
    keyframes = SchedulingPass.objects.filter(keyframe=True).order_by("number").values_list("number", "started_at")
    start = 0
    for number, began in list(keyframes):
        yield start, number, began
        start = number


def _needed() -> Iterator[int]:
    """The numbers of all passes that some decision was made in, ascending."""
    used = SchedulingPass.objects.filter(pk__in=Decision.objects.values("pass_row_id"))
    return used.order_by("number").values_list("number", flat=True).iterator()


def _live(events: list[Event]) -> set[tuple[str, str]]:
    """Which of the subjects of these events belong to a job that is not over."""
    named: dict[str, set[str]] = {"job": set(), "attempt": set(), "task": set()}
    for event in events:
        named.get(event.subject_kind, set()).add(event.subject)
    numbers = {kind: [int(name) for name in names if name.isdecimal()] for kind, names in named.items()}
    going_on = ~Q(state__in=JOB_OVER)
    jobs = Job.objects.filter(going_on, job_id__in=named["job"]).values_list("job_id", flat=True)
    attempts = Attempt.objects.filter(pk__in=numbers["attempt"]).exclude(job__state__in=JOB_OVER)
    tasks = Task.objects.filter(pk__in=numbers["task"]).exclude(attempt__job__state__in=JOB_OVER)
    return {
        *(("job", name) for name in jobs),
        *(("attempt", str(pk)) for pk in attempts.values_list("pk", flat=True)),
        *(("task", str(pk)) for pk in tasks.values_list("pk", flat=True)),
    }


def _delete(rows: QuerySet) -> int:
    """Delete one batch; 0 where another has begun to need one of them."""
    try:
        with transaction.atomic():
            found = rows.model._default_manager.filter(pk__in=list(rows.values_list("pk", flat=True)))  # noqa: SLF001 - the public way to any model's rows
            return int(found.only("pk").delete()[0])
    except ProtectedError:
        return 0
