"""Keeping workers or some of their devices for somebody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from scheduler.core.holders import holder as full_holder
from scheduler.models import Event, Job, Reservation
from workers.changes import bump
from workers.models import Device, Worker

HOLDER_HELP = "job:j-12, user:mira or team:vision; a bare value means a job"


@transaction.atomic
def reserve(
    *, worker: Worker, holder: str, starts_at: datetime, ends_at: datetime | None = None, devices: Sequence[int] = (),
    actor: str, now: datetime, note: str = "", created_by: Any = None,
) -> Reservation:  # fmt: skip
    """Keep a worker, or only these of its devices, for a holder. Raises `ValidationError` by field, all at once."""
    Worker.objects.select_for_update().get(pk=worker.pk)
    reservation = Reservation(
        worker=worker, holder=holder, devices=sorted(set(devices)), starts_at=starts_at, ends_at=ends_at, note=note,
        created_at=now, created_by=created_by,
    )  # fmt: skip
    check(reservation, now=now)
    reservation.save()
    _announce(reservation, "created", actor=actor, now=now)
    return reservation


@transaction.atomic
def amend(*, reservation: Reservation, actor: str, now: datetime) -> Reservation:
    """Save a reservation with changed fields. Raises `ValidationError` by field, all at once."""
    Worker.objects.select_for_update().get(pk=reservation.worker_id)
    former = Reservation.objects.get(pk=reservation.pk)
    check(reservation, now=now)
    reservation.save()
    bump([former.worker_id])
    _announce(reservation, "changed", actor=actor, now=now, before=str(former.holder))
    return reservation


@transaction.atomic
def end_reservation(*, reservation: Reservation, actor: str, now: datetime) -> bool:
    """End a reservation now, or take one back that has not begun; False where it is over already."""
    running = Reservation.objects.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), cancelled_at__isnull=True)
    if not running.filter(pk=reservation.pk).update(cancelled_at=now):
        return False
    reservation.cancelled_at = now
    _announce(reservation, "ended", actor=actor, now=now)
    return True


def is_known(holder: str) -> bool:
    """Whether there is such a job, user or team today; a reservation may be for one to come."""
    kind, _, name = holder.partition(":")
    if kind == "job":
        return Job.objects.filter(job_id=name).exists()
    if kind == "user":
        return User.objects.filter(username=name).exists()
    return Group.objects.filter(name=name).exists()


def check(reservation: Reservation, *, now: datetime) -> None:
    """Put the holder in full and the devices in order; raise `ValidationError` by field for what is wrong."""
    problems: dict[str, list[str]] = {}
    _check_holder(reservation, problems)
    _check_span(reservation, now, problems)
    _check_devices(reservation, problems)
    if not problems:
        _check_overlap(reservation, problems)
    if problems:
        raise ValidationError(problems)


def _check_holder(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    said = reservation.holder.strip()
    full = full_holder(said)
    if full is None or not full.isprintable():
        problems["holder"] = [f"Found “{said}”; expected {HOLDER_HELP}."]
        return
    reservation.holder = full


def _check_span(reservation: Reservation, now: datetime, problems: dict[str, list[str]]) -> None:
    if reservation.ends_at is None:
        return
    if reservation.ends_at <= reservation.starts_at:
        problems["ends_at"] = ["The end must be after the start."]
    elif reservation.pk is None and reservation.ends_at <= now:
        problems["ends_at"] = ["The end is past already."]


def _check_devices(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    found = set(Device.objects.filter(worker=reservation.worker_id, present=True).values_list("index", flat=True))
    unknown = sorted(set(reservation.devices) - found)
    if unknown:
        has = ", ".join(map(str, sorted(found))) or "none"
        problems["devices"] = [f"The worker has no device {', '.join(map(str, unknown))}; it has {has}."]


def _check_overlap(reservation: Reservation, problems: dict[str, list[str]]) -> None:
    for other in _at_the_same_time(reservation):
        shared = sorted(set(reservation.devices) & set(other.devices))
        if reservation.devices and other.devices and not shared:
            continue
        what = f"device {', '.join(map(str, shared))}" if shared else "this worker"
        until = f"until {other.ends_at:%Y-%m-%d %H:%M} UTC" if other.ends_at else "without an end"
        where = "devices" if shared else "worker"
        problems.setdefault(where, []).append(
            f"{what.capitalize()} is reserved for {other.holder} from {other.starts_at:%Y-%m-%d %H:%M} UTC {until} "
            f"(reservation {other.pk}); end that first, or choose another time."
        )


def _at_the_same_time(reservation: Reservation) -> QuerySet[Reservation]:
    others = Reservation.objects.filter(
        Q(ends_at__isnull=True) | Q(ends_at__gt=reservation.starts_at),
        worker=reservation.worker_id,
        cancelled_at__isnull=True,
    ).exclude(pk=reservation.pk)
    if reservation.ends_at is not None:
        others = others.filter(starts_at__lt=reservation.ends_at)
    return others.order_by("pk")


def _announce(reservation: Reservation, verb: str, *, actor: str, now: datetime, before: str = "") -> None:
    bump([reservation.worker_id])
    Event.objects.create(
        at=now, actor=actor, subject_kind="reservation", subject=str(reservation.pk), verb=verb, before=before[:200],
        after=reservation.holder[:200],
        detail={
            "worker": reservation.worker.name,
            "devices": reservation.devices,
            "starts_at": reservation.starts_at.isoformat(),
            "ends_at": reservation.ends_at.isoformat() if reservation.ends_at else None,
        },
    )  # fmt: skip
