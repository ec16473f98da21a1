"""Reservations in each other's way: which they are, and what could be asked for instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from scheduler.models import Reservation
from workers.devices import ranges
from workers.models import Device

MOST_LOOKED_AT = 1_000
"""For a fix; what is in the way is found among all."""
MOST_TOLD = 100
MOST_ENDED = 5
OFFERED = 2
WHOLE = "this worker"

Kind = Literal["start", "end", "devices", "end_others"]
EVERYTHING: tuple[Kind, ...] = ("start", "end", "devices", "end_others")


@dataclass(frozen=True, slots=True)
class Fix:
    """One change after which the reservation would be possible; what is None stays as it was asked for."""

    kind: Kind
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    devices: tuple[int, ...] | None = None
    end_first: tuple[int, ...] = ()
    """Other reservations to be ended for it."""
    other: int | None = None
    """The reservation by whose start or end the time is chosen."""


class OverlapError(ValidationError):
    """Other reservations keep the same at the same time: both sides, and the nearest fixes."""

    def __init__(self, asked: Reservation, others: Sequence[Reservation], fixes: Sequence[Fix]) -> None:
        self.asked, self.others, self.fixes = asked, tuple(others), tuple(fixes)
        told: dict[str, list[str]] = {}
        for other in others:
            told.setdefault("devices" if shared(asked, other) else "worker", []).append(_sentence(asked, other))
        super().__init__(told)


def fix_words(fix: Fix, clock: Callable[[datetime], str]) -> str:
    """What to do, as a button says it; `clock` writes an instant."""
    if fix.kind == "devices":
        devices = fix.devices or ()
        return f"Take device{'s'[: len(devices) > 1]} {ranges(devices)} only"
    if fix.starts_at is not None:
        until = f" and end at {clock(fix.ends_at)}" if fix.ends_at else ""
        return f"Start at {clock(fix.starts_at)}, when r-{fix.other} ends{until}"
    if fix.ends_at is not None:
        return f"End at {clock(fix.ends_at)}, when r-{fix.other} begins"
    return f"End {' and '.join(f'r-{other}' for other in fix.end_first)} now"


def overlapping(asked: Reservation) -> list[Reservation]:
    """The live reservations that keep a device of it at its time, by number: the first `MOST_TOLD` of them."""
    rows = _not_over(asked).order_by("pk")
    if asked.ends_at:
        rows = rows.filter(starts_at__lt=asked.ends_at)
    return list(islice((other for other in rows.iterator() if _same_place(asked, other)), MOST_TOLD))


def nearest_fixes(asked: Reservation, others: Sequence[Reservation], kinds: Collection[Kind] = EVERYTHING) -> list[Fix]:
    """At most two: as many other devices first, then the smallest change of time, fewer devices, ending the others."""
    around = _neighbours(asked)
    found: list[tuple[tuple[int, timedelta], Fix]] = []
    for rank, fix in (*_other_devices(asked, around), *_other_times(asked, others, around)):
        found.append((rank, fix))
    if len(others) <= MOST_ENDED:
        found.append(((3, timedelta()), Fix("end_others", end_first=tuple(other.pk for other in others))))
    wanted = [(rank, fix) for rank, fix in found if fix.kind in kinds]
    return [fix for _, fix in sorted(wanted, key=lambda each: each[0])[:OFFERED]]


def shared(asked: Reservation, other: Reservation) -> list[int]:
    """The devices that both name; empty where one of them has the whole worker, or none is common."""
    return sorted(set(asked.devices) & set(other.devices))


def _neighbours(asked: Reservation) -> list[Reservation]:
    """Live reservations of the worker that are not over when the asked one starts, the earliest first."""
    return list(_not_over(asked).order_by("starts_at", "pk")[:MOST_LOOKED_AT])


def _not_over(asked: Reservation) -> QuerySet[Reservation]:
    later = Q(ends_at__isnull=True) | Q(ends_at__gt=asked.starts_at)
    return Reservation.objects.filter(later, worker=asked.worker_id, cancelled_at__isnull=True).exclude(pk=asked.pk)


def _in_the_way(asked: Reservation, around: Iterable[Reservation]) -> list[Reservation]:
    return [other for other in around if _same_time(asked, other) and _same_place(asked, other)]


def _same_time(asked: Reservation, other: Reservation) -> bool:
    return (other.ends_at is None or other.ends_at > asked.starts_at) and (
        asked.ends_at is None or other.starts_at < asked.ends_at
    )


def _same_place(asked: Reservation, other: Reservation) -> bool:
    return not asked.devices or not other.devices or bool(shared(asked, other))


def _other_devices(asked: Reservation, around: Sequence[Reservation]) -> Iterable[tuple[tuple[int, timedelta], Fix]]:
    busy = [other for other in around if _same_time(asked, other)]
    if not all(other.devices for other in busy):
        return
    taken = {index for other in busy for index in other.devices}
    present = Device.objects.filter(worker=asked.worker_id, present=True).order_by("index")
    free = [index for index in present.values_list("index", flat=True) if index not in taken]
    if not free:
        return
    # Those that were asked for stay, as far as they can.
    chosen = sorted(free, key=lambda index: (index not in asked.devices, index))[: len(asked.devices) or None]
    enough = bool(asked.devices) and len(chosen) == len(asked.devices)
    yield ((0 if enough else 2), timedelta()), Fix("devices", devices=tuple(sorted(chosen)))


def _other_times(
    asked: Reservation, others: Sequence[Reservation], around: Sequence[Reservation]
) -> Iterable[tuple[tuple[int, timedelta], Fix]]:
    later = _later(asked, around)
    if later is not None:
        start, end, other = later
        yield (1, start - asked.starts_at), Fix("start", starts_at=start, ends_at=end, other=other.pk)
    first = min(others, key=lambda other: other.starts_at)
    end = first.starts_at.replace(second=0, microsecond=0)
    if end > asked.starts_at:
        lost = asked.ends_at - end if asked.ends_at else timedelta(days=1)
        yield (1, lost), Fix("end", ends_at=end, other=first.pk)


def _later(asked: Reservation, around: Sequence[Reservation]) -> tuple[datetime, datetime | None, Reservation] | None:
    """The first moment at which another one ends and this one could start; its end stays, or else its length."""
    ends = [(_whole_minute(other.ends_at), other) for other in around if other.ends_at is not None]
    for start, other in sorted(ends, key=lambda each: (each[0], each[1].pk)):
        end = None
        if asked.ends_at is not None and asked.ends_at <= start:
            end = start + (asked.ends_at - asked.starts_at)
        moved = Reservation(
            worker_id=asked.worker_id, devices=asked.devices, starts_at=start, ends_at=end or asked.ends_at
        )
        if not _in_the_way(moved, around):
            return start, end, other
    return None


def _whole_minute(at: datetime) -> datetime:
    """This minute, else the next one: times that people can read and write."""
    floor = at.replace(second=0, microsecond=0)
    return floor if floor == at else floor + timedelta(minutes=1)


def _sentence(asked: Reservation, other: Reservation) -> str:
    both = shared(asked, other)
    what = f"device{'s' if len(both) > 1 else ''} {ranges(both)}" if both else WHOLE
    verb = "are" if len(both) > 1 else "is"
    until = f"until {other.ends_at:%Y-%m-%d %H:%M} UTC" if other.ends_at else "without an end"
    return (
        f"{what[0].upper()}{what[1:]} {verb} reserved for {other.holder} from {other.starts_at:%Y-%m-%d %H:%M} UTC "
        f"{until} (reservation {other.pk}); end that first, or choose another time."
    )
