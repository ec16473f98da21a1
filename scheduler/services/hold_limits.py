"""How long a hold may last: so long past its first end, so long in all, and not into what others have reserved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler.core.words import Clock, in_utc
from scheduler.models import Job, Reservation, Task
from scheduler.queue import own_reservations
from scheduler.services.reservations import live
from workers.refusals import Refused

LONGER = timedelta(hours=24)
"""How long a hold may last past the end that was asked for at first."""
LONGEST = timedelta(days=7)
"""How long it may last in all."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Until when a hold that has begun can be made to last, and why no longer."""

    until: datetime
    why: str


def latest_end(job: Job) -> datetime:
    """Until when a hold that has begun can be made to last where nothing is reserved."""
    begun = job.started_at or job.submitted_at
    first = begun + timedelta(seconds=int(job.spec.get("hold_s") or 0))
    return min(first + LONGER, begun + LONGEST)


def limit_of(job: Job, *, now: datetime, clock: Clock = in_utc) -> Limit:
    """A hold that took the time before a reservation leaves when that begins, as any job there: it was placed so."""
    assert job.hold_until
    until = latest_end(job)
    why = f"{LONGER.total_seconds() / 3600:.0f} hours past its first end, {LONGEST.days} days in all"
    ahead = _first_reserved(job, now)
    if ahead is None or ahead.starts_at >= until:
        return Limit(until, why)
    return Limit(
        max(ahead.starts_at, job.hold_until),
        f"r-{ahead.pk} keeps {ahead.worker.name} for others from {clock(ahead.starts_at)} on",
    )


def check(job: Job, until: datetime, *, now: datetime) -> None:
    """Refused, `hold_too_long`, where a hold cannot be made to last until then."""
    assert job.hold_until
    limit = limit_of(job, now=now)
    if until > limit.until:
        left = int((limit.until - job.hold_until).total_seconds()) // 60
        raise Refused(
            "hold_too_long",
            f"{job.job_id} can last until {in_utc(limit.until)}: {limit.why}; "
            + (f"it can be made up to {left:,} minutes longer" if left > 0 else "it cannot be made longer"),
        )


def _first_reserved(job: Job, now: datetime) -> Reservation | None:
    """The reservation for others of something it holds that begins first, or has begun and waits for it."""
    own = own_reservations(job, list(job.owner.groups.values_list("name", flat=True)))
    held = dict(Task.objects.filter(attempt__job=job, attempt__active=True).values_list("worker_id", "devices"))
    others = live(now).filter(worker__in=held).exclude(holder__in=own).select_related("worker")
    return next((each for each in others.order_by("starts_at", "pk") if _reaches(each, held[each.worker_id])), None)


def _reaches(reservation: Reservation, devices: list[int]) -> bool:
    return not reservation.devices or not set(reservation.devices).isdisjoint(devices)
