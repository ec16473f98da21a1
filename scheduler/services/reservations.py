"""Keeping workers or some of their devices for somebody."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from scheduler.core.holders import holder as full_holder
from scheduler.core.reading import can_be_stored
from scheduler.models import Event, Job, Reservation
from scheduler.services.reservation_fixes import EVERYTHING, Kind, OverlapError, nearest_fixes, overlapping
from workers.changes import bump
from workers.devices import ranges
from workers.models import Device, Intent, Liveness, Worker

HOLDER_HELP = "job:j-12, user:mira or team:vision; a bare value means a job"
CHANGED: tuple[Kind, ...] = ("end", "end_others")
"""What may be offered for a reservation that is there already: its devices stay."""


def reserve(
    *, worker: Worker, holder: str, starts_at: datetime, ends_at: datetime | None = None, devices: Sequence[int] = (),
    actor: str, now: datetime, note: str = "", created_by: Any = None, end_first: Collection[int] = (),
) -> Reservation:  # fmt: skip
    """Keep a worker, or only these of its devices, for a holder; a start in the past means now.

    `end_first`: reservations of this worker that are ended for it. Raises `ValidationError` by field, all at once;
    `OverlapError` where only others are in its way.
    """
    reservation = Reservation(
        worker=worker, holder=holder, devices=sorted(set(devices)), starts_at=starts_at, ends_at=ends_at, note=note,
        created_at=now, created_by=created_by,
    )  # fmt: skip
    with _told_as_overlap(reservation), transaction.atomic():
        Worker.objects.select_for_update().get(pk=worker.pk)
        _end_first(reservation, end_first, actor=actor, now=now)
        check(reservation, now=now)
        reservation.save()
        bump([worker.pk])
        announce("created", reservation, actor=actor, now=now)
    return reservation


def amend(*, reservation: Reservation, actor: str, now: datetime, end_first: Collection[int] = ()) -> Reservation:
    """Save a reservation with changed fields. Raises as `reserve` does, and `ValidationError` for one that is over."""
    with _told_as_overlap(reservation), transaction.atomic():
        Worker.objects.select_for_update().get(pk=reservation.worker_id)
        former = Reservation.objects.get(pk=reservation.pk)
        if not is_live(former, now):
            raise ValidationError({"ends_at": ["It is over: what is over is not changed any more."]})
        _end_first(reservation, end_first, actor=actor, now=now)
        check(reservation, now=now)
        reservation.save()
        bump([former.worker_id])
        announce("changed", reservation, actor=actor, now=now, former=former)
    return reservation


@transaction.atomic
def end_reservation(*, reservation: Reservation, actor: str, now: datetime, cause: str = "") -> bool:
    """End a reservation now, or take one back that has not begun; False where it is over already."""
    cause = cause or ("cancelled" if reservation.starts_at > now else "ended early")
    # The worker before its reservations, as everybody locks them.
    Worker.objects.select_for_update().get(pk=reservation.worker_id)
    if not live(now).filter(pk=reservation.pk).update(cancelled_at=now, ended_cause=cause[:100]):
        return False
    reservation.cancelled_at, reservation.ended_cause = now, cause[:100]
    bump([reservation.worker_id])
    announce("ended", reservation, actor=actor, now=now, cause=cause)
    return True


def live(now: datetime) -> QuerySet[Reservation]:
    """Reservations that are not over: in force, or to come."""
    return Reservation.objects.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), cancelled_at__isnull=True)


def is_live(reservation: Reservation, now: datetime) -> bool:
    """Whether it is in force, or to come."""
    return reservation.cancelled_at is None and (reservation.ends_at is None or reservation.ends_at > now)


def is_known(holder: str) -> bool:
    """Whether there is such a job, user or team today; a reservation may be for a person or a team to come."""
    kind, _, name = holder.partition(":")
    if kind == "job":
        return Job.objects.filter(job_id=name).exists()
    if kind == "user":
        return User.objects.filter(username=name).exists()
    return Group.objects.filter(name=name).exists()


def check(reservation: Reservation, *, now: datetime, end_first: Collection[int] = ()) -> None:
    """Put the holder in full and the start of a new one no earlier than now; raise `ValidationError` by field for what
    is wrong.

    `end_first`: others that would be ended for it, and so are in nobody's way.
    """
    problems: dict[str, list[str]] = {}
    _check_worker(reservation, problems)
    _check_holder(reservation, problems)
    _check_span(reservation, now, problems)
    _check_devices(reservation, problems)
    if not can_be_stored(reservation.note) or len(reservation.note) > 200:
        problems["note"] = [f"Found {len(reservation.note)} characters; expected at most 200 that can be printed."]
    if problems:
        raise ValidationError(problems)
    if reservation.pk is None:  # what was over by now is not in its way
        reservation.starts_at = max(reservation.starts_at, now)
    others = [other for other in overlapping(reservation) if other.pk not in end_first]
    if others:
        raise OverlapError(reservation, others, nearest_fixes(reservation, others, _kinds(reservation)))


def words(reservation: Reservation) -> str:
    """One reservation in a line, in UTC: whose, what, from when until when."""
    where = f"device{'s'[: len(reservation.devices) > 1]} {ranges(reservation.devices)}" if reservation.devices else ""
    until = f"until {reservation.ends_at:%Y-%m-%d %H:%M}" if reservation.ends_at else "without an end"
    what = " ".join(filter(None, (reservation.worker.name, where)))
    return f"{what} for {reservation.holder} from {reservation.starts_at:%Y-%m-%d %H:%M} {until}"


@contextmanager
def _told_as_overlap(reservation: Reservation) -> Iterator[None]:
    """A refusal of the database, where somebody else was faster, is told as the check would have told it."""
    try:
        yield
    except IntegrityError as error:
        others = overlapping(reservation)
        if not others:
            raise
        raise OverlapError(reservation, others, nearest_fixes(reservation, others, _kinds(reservation))) from error


def _end_first(reservation: Reservation, others: Collection[int], *, actor: str, now: datetime) -> None:
    rows = Reservation.objects.filter(pk__in=others, worker=reservation.worker_id).exclude(pk=reservation.pk)
    for other in rows.select_related("worker").order_by("pk"):
        end_reservation(reservation=other, actor=actor, now=now, cause=f"ended for {reservation.holder}")


def _kinds(reservation: Reservation) -> Collection[Kind]:
    return EVERYTHING if reservation._state.adding else CHANGED  # noqa: SLF001 - Django's own word for it


def _check_worker(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    worker = reservation.worker
    if reservation.pk is None and (worker.intent == Intent.RETIRED or worker.liveness == Liveness.REVOKED):
        problems["worker"] = [f"{worker.name} has left for good; choose another one."]


def _check_holder(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    said = reservation.holder.strip()
    full = full_holder(said)
    if full is None or not full.isprintable() or len(full) > 300:
        problems["holder"] = [f"Found “{said[:60]}”; expected {HOLDER_HELP}."]
        return
    reservation.holder = full
    kind, _, name = full.partition(":")
    if kind == "job":
        job = Job.objects.filter(job_id=name).only("state").first()
        if job is None:
            problems["holder"] = [f"There is no job {name[:60]}."]
        elif job.is_over:
            problems["holder"] = [f"{name} is over ({job.get_state_display().lower()}): it needs nothing any more."]


def _check_span(reservation: Reservation, now: datetime, problems: dict[str, list[str]]) -> None:
    if reservation.ends_at is None:
        return
    if reservation.ends_at <= reservation.starts_at:
        problems["ends_at"] = ["The end must be after the start."]
    elif reservation.ends_at <= now:
        problems["ends_at"] = ["The end is past already."]


def _check_devices(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    found = set(Device.objects.filter(worker=reservation.worker_id, present=True).values_list("index", flat=True))
    # One that is missing lately is kept all the same: it may come back.
    kept = Reservation.objects.filter(pk=reservation.pk).values_list("devices", flat=True).first() or ()
    unknown = sorted(set(reservation.devices) - found - set(kept))
    if unknown:
        has = ranges(sorted(found)) or "none"
        which = f"device{'s'[: len(unknown) > 1]} {ranges(unknown)}"
        problems["devices"] = [f"The worker has no {which}; it has {has}."]


def announce(
    verb: str,
    reservation: Reservation,
    *,
    actor: str,
    now: datetime,
    cause: str = "",
    former: Reservation | None = None,
) -> None:
    """Write into the trail what became of a reservation; `former` is what it was before, where it was changed."""
    after = _document(reservation)
    before = _document(former) if former else after if verb == "ended" else None
    Event.objects.create(
        at=now, actor=actor, subject_kind="reservation", subject=str(reservation.pk), verb=verb, cause=cause[:200],
        before=words(former or reservation)[:200] if before else "",
        after="" if verb == "ended" else words(reservation)[:200],
        detail={**after, "before": before},
    )  # fmt: skip


def _document(reservation: Reservation) -> Mapping[str, Any]:
    return {
        "worker": reservation.worker.name,
        "devices": reservation.devices,
        "holder": reservation.holder,
        "starts_at": reservation.starts_at.isoformat(),
        "ends_at": reservation.ends_at.isoformat() if reservation.ends_at else None,
        "note": reservation.note,
    }
