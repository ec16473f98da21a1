"""Who has what until when, as numbers that a template draws: lanes with bars over some hours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

LEFT, RIGHT, TOP = 140, 974, 22
ROW, GAP = 24, 6
MOST_ROWS = 8
"""Bars of one lane above each other; what is more is counted."""
LONGEST_NAME = 17
LETTER = 7
"""About as wide as one in the picture's own measure."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A reservation or a task. `ends_at` None: nobody knows, or never."""

    starts_at: datetime
    ends_at: datetime | None
    look: str
    """A CSS class: `rs`, `job`."""
    text: str
    title: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """What one lane is to show, and whose it is."""

    label: str
    pieces: Sequence[Piece]
    link: str = ""


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
    """One worker, or some of its devices."""

    label: str
    link: str
    y: int
    rows: list[float] = field(default_factory=list)
    """Where the last bar of each row ends."""
    bars: list[Bar] = field(default_factory=list)
    left_out: int = 0

    @property
    def name(self) -> str:
        """The label, as far as there is room."""
        return self.label if len(self.label) <= LONGEST_NAME else f"{self.label[: LONGEST_NAME - 1]}…"

    @property
    def height(self) -> int:
        """Of its strip."""
        return max(1, len(self.rows)) * ROW


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole of it."""

    start: datetime
    end: datetime
    ticks: tuple[tuple[float, str], ...]
    lanes: tuple[Lane, ...]
    height: int
    now_x: float | None


def picture(strips: Iterable[Strip], *, start: datetime, hours: int, now: datetime, zone: tzinfo) -> Picture:
    """These strips from `start` on for so many hours; ticks are times or days of that zone."""
    end = start + timedelta(hours=hours)
    lanes, y = [], TOP
    for strip in strips:
        lane = Lane(strip.label, strip.link, y)
        for piece in strip.pieces:
            _put(lane, piece, start, end)
        lanes.append(lane)
        y += lane.height + GAP
    now_x = _x(now, start, end) if start <= now < end else None
    return Picture(start, end, tuple(_ticks(start, end, hours, zone)), tuple(lanes), y, now_x)


def whole_hour(at: datetime, zone: tzinfo) -> datetime:
    """The hour that clocks in this zone began last."""
    here = at.astimezone(zone)
    return (at - timedelta(minutes=here.minute, seconds=here.second, microseconds=here.microsecond)).astimezone(UTC)


def in_utc(at: datetime | None) -> str:
    """An instant in titles, which every viewer may quote."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""


def _put(lane: Lane, piece: Piece, start: datetime, end: datetime) -> None:
    x, to = (_x(min(max(at, start), end), start, end) for at in (piece.starts_at, piece.ends_at or end))
    if to <= x:
        return
    place = next((at for at, taken in enumerate(lane.rows) if taken <= x + 0.01), len(lane.rows))
    if place >= MOST_ROWS:
        lane.left_out += 1
        return
    lane.rows[place : place + 1] = [to]
    where = round(x, 1), round(max(to - x, 3), 1), lane.y + place * ROW + 2
    lane.bars.append(Bar(*where, piece.look, piece.text, piece.title, piece.link))


def _x(at: datetime, start: datetime, end: datetime) -> float:
    return LEFT + (RIGHT - LEFT) * ((at - start) / (end - start))


def _ticks(start: datetime, end: datetime, hours: int, zone: tzinfo) -> Iterable[tuple[float, str]]:
    if hours <= 24:
        for ahead in range(0, hours + 1, 3):
            at = start + timedelta(hours=ahead)
            yield round(_x(at, start, end), 1), at.astimezone(zone).strftime("%H:%M")
        return
    # Midnights of the viewer's days: with a clock change one of them is an hour longer or shorter.
    day = start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    step, form = (1, "%a %d") if hours <= 7 * 24 else (3, "%d %b")
    while (at := day.replace(tzinfo=zone).astimezone(UTC)) <= end:
        if at >= start:
            yield round(_x(at, start, end), 1), day.strftime(form)
        day += timedelta(days=step)
