"""Reservations and running tasks over time, one lane for each worker, as numbers that a template draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from django.db.models import Q
from django.urls import reverse

from scheduler.models import Reservation
from scheduler.services.reservation_rows import ReservationRow, rows_for
from workers.local_time import read_local
from workers.models import Worker

RANGES: Mapping[str, tuple[str, int]] = {"day": ("24 h", 24), "week": ("7 days", 7 * 24), "month": ("30 days", 30 * 24)}
"""By the word in the address: the tab's text and the hours."""
LEFT, RIGHT, TOP = 140, 974, 22
ROW, GAP = 24, 6
MOST_ROWS = 8
"""Bars of one worker above each other; what is more is counted."""
MOST_BARS = 1_000
LONGEST_NAME = 17
LETTER = 7
"""About as wide as one in the picture's own measure."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One reservation or task: where it stands, its look, what it says and where it leads (empty: nowhere)."""

    x: float
    width: float
    y: int
    look: str
    text: str
    title: str
    link: str

    @property
    def short(self) -> str:
        """As many of its words as there is room for."""
        room = int((self.width - 10) / LETTER)
        return self.text if len(self.text) <= room else self.text[: room + 1].rpartition(" ")[0]


@dataclass(slots=True)
class Lane:
    """One worker."""

    worker: Worker
    y: int
    rows: list[float] = field(default_factory=list)
    """Where the last bar of each row ends."""
    bars: list[Bar] = field(default_factory=list)
    left_out: int = 0

    @property
    def name(self) -> str:
        """The worker's, as far as there is room."""
        name = self.worker.name
        return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"

    @property
    def height(self) -> int:
        """Of its strip."""
        return max(1, len(self.rows)) * ROW


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole picture."""

    start: datetime
    end: datetime
    ticks: tuple[tuple[float, str], ...]
    lanes: tuple[Lane, ...]
    height: int
    now_x: float | None


def timeline(
    workers: Sequence[Worker], *, start: datetime, word: str, now: datetime, zone: tzinfo, user: object
) -> Timeline:
    """What is reserved on these workers, and until when at the latest what runs there holds it."""
    end = start + timedelta(hours=RANGES[word][1])
    rows = _rows_on(workers, start, end, user, now)
    lanes, y = [], TOP
    for worker in workers:
        lane = Lane(worker, y)
        _fill(lane, rows.get(worker.pk, ()), start, end, now)
        lanes.append(lane)
        y += lane.height + GAP
    within = start <= now < end
    return Timeline(
        start, end, tuple(_ticks(start, end, word, zone)), tuple(lanes), y, _x(now, start, end) if within else None
    )


def first_instant(asked: str, now: datetime, zone: tzinfo) -> datetime:
    """Where the picture begins: at what the address says, else at this hour."""
    try:
        return read_local(asked, UTC, which=0) if asked else _hour(now, zone)
    except ValueError:
        return _hour(now, zone)


def _hour(at: datetime, zone: tzinfo) -> datetime:
    here = at.astimezone(zone)
    return (at - timedelta(minutes=here.minute, seconds=here.second, microseconds=here.microsecond)).astimezone(UTC)


def _rows_on(
    workers: Sequence[Worker], start: datetime, end: datetime, user: object, now: datetime
) -> dict[int, list[ReservationRow]]:
    not_over = Q(ends_at__isnull=True) | Q(ends_at__gt=start)
    found = Reservation.objects.filter(
        not_over, worker__in=[worker.pk for worker in workers], cancelled_at__isnull=True, starts_at__lt=end
    )
    by_worker: dict[int, list[ReservationRow]] = {}
    some = list(found.select_related("worker").order_by("starts_at", "pk")[:MOST_BARS])
    for row in rows_for(user, some, now):
        by_worker.setdefault(row.reservation.worker_id, []).append(row)
    return by_worker


def _fill(lane: Lane, rows: Iterable[ReservationRow], start: datetime, end: datetime, now: datetime) -> None:
    tasks = {task.job_id: task for row in rows for task in row.in_the_way}
    for task in tasks.values():
        until = f"until {_utc(task.until)} at the latest" if task.until else "without a time limit"
        link = "" if task.hidden else reverse("job", args=[task.job_id])
        _put(lane, (max(now, start), task.until or end), (start, end), "job", task.name, f"{task.name}, {until}", link)
    for row in rows:
        of = row.reservation
        devices = f" on devices {', '.join(map(str, of.devices))}" if of.devices else ""
        until = f"until {_utc(of.ends_at)}" if of.ends_at else "without an end"
        text = f"{row.name} for {row.kind_word} {row.holder}"
        title = f"{text}{devices}, from {_utc(of.starts_at)} {until}"
        _put(lane, (of.starts_at, of.ends_at or end), (start, end), "rs", text, title, f"#{row.name}")


def _put(
    lane: Lane,
    span: tuple[datetime, datetime],
    of: tuple[datetime, datetime],
    look: str,
    text: str,
    title: str,
    link: str,
) -> None:
    x, to = (_x(min(max(at, of[0]), of[1]), *of) for at in span)
    if to <= x:
        return
    place = next((at for at, taken in enumerate(lane.rows) if taken <= x + 0.01), len(lane.rows))
    if place >= MOST_ROWS:
        lane.left_out += 1
        return
    lane.rows[place : place + 1] = [to]
    lane.bars.append(Bar(round(x, 1), round(max(to - x, 3), 1), lane.y + place * ROW + 2, look, text, title, link))


def _x(at: datetime, start: datetime, end: datetime) -> float:
    return LEFT + (RIGHT - LEFT) * ((at - start) / (end - start))


def _ticks(start: datetime, end: datetime, word: str, zone: tzinfo) -> Iterable[tuple[float, str]]:
    if word == "day":
        for hours in range(0, 25, 3):
            at = start + timedelta(hours=hours)
            yield round(_x(at, start, end), 1), at.astimezone(zone).strftime("%H:%M")
        return
    # Midnights of the viewer's days: with a clock change one of them is an hour longer or shorter.
    day = start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    step = 1 if word == "week" else 3
    while (at := day.replace(tzinfo=zone).astimezone(UTC)) <= end:
        if at >= start:
            yield round(_x(at, start, end), 1), day.strftime("%a %d" if word == "week" else "%d %b")
        day += timedelta(days=step)


def _utc(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""
