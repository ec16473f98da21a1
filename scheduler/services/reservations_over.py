"""Reservations that have outlived what they were for end by themselves."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Substr

from scheduler.models import Job, Reservation
from scheduler.models.jobs import JOB_OVER
from scheduler.services.reservations import end_reservation, live
from workers.models import Intent

ACTOR = "scheduler"
AT_ONCE = 500


def end_the_outlived(now: datetime) -> None:
    """End those whose job is over or deleted, and those of retired workers. Again, or twice at once: the same."""
    for reservation in _outlived(now).select_related("worker").order_by("pk")[:AT_ONCE]:
        end_reservation(reservation=reservation, actor=ACTOR, now=now, cause=_cause(reservation))


def _outlived(now: datetime) -> QuerySet[Reservation]:
    own = Job.objects.filter(job_id=Substr(OuterRef("holder"), len("job:") + 1))
    without_job = Q(holder__startswith="job:") & ~Q(Exists(own.exclude(state__in=JOB_OVER)))
    return live(now).filter(without_job | Q(worker__intent=Intent.RETIRED))


def _cause(reservation: Reservation) -> str:
    kind, _, job_id = reservation.holder.partition(":")
    if kind == "job":
        job = Job.objects.filter(job_id=job_id).only("state").first()
        if job is None:
            return f"{job_id} is gone"
        if job.is_over:
            return f"{job_id} is over ({job.get_state_display().lower()})"
    return f"{reservation.worker.name} is retired"
