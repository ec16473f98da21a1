"""Two small charts of the last 24 hours: how many jobs started in each, and how long half of them had waited."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.utils import timezone

from scheduler.memory import remembered, trim
from scheduler.services.visibility import seen_by, sees_all
from workers.moments import duration

HOURS = 24
WIDTH, HEIGHT, LEFT, RIGHT, TOP = 372, 92, 46, 10, 12
MOST_KEPT = 200
STEPS = (60, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800)

Times = Sequence[tuple[datetime, datetime]]
_found: OrderedDict[tuple[int | None, datetime], tuple[Chart, Chart] | None] = remembered(OrderedDict())


@dataclass(frozen=True, slots=True)
class Chart:
    """A line over the hours, ready to draw."""

    line: str
    area: str
    rows: tuple[tuple[str, str, str], ...]
    """Where a line of the grid is, where its text is, and the text."""
    columns: tuple[tuple[str, str, str], ...]
    """Where a text below is, its anchor, and the text."""
    label: str

    width, height, left = WIDTH, HEIGHT + 24, LEFT


def charts(user: Any, now: datetime) -> tuple[Chart, Chart] | None:
    """Jobs started per hour and the median wait, of the jobs that this user sees; None where none started.

    Looked up once a minute: one query.
    """
    key = (None if sees_all(user) else user.pk, now.replace(second=0, microsecond=0))
    if key not in _found:
        since = now - timedelta(hours=HOURS)
        rows = seen_by(user).filter(started_at__gte=since, started_at__lte=now)
        times = rows.values_list("submitted_at", "started_at")
        _found[key] = _drawn([(submitted, started) for submitted, started in times if started], now)
        trim(_found, MOST_KEPT)
    return _found[key]


def _drawn(times: Times, now: datetime) -> tuple[Chart, Chart] | None:
    if not times:
        return None
    waits: list[list[float]] = [[] for _ in range(HOURS)]
    for submitted, started in times:
        hour = int((now - started) / timedelta(hours=1))
        waits[HOURS - 1 - min(HOURS - 1, hour)].append(max(0.0, (started - submitted).total_seconds()))
    counts = [float(len(some)) for some in waits]
    medians = _filled([median(some) if some else None for some in waits])
    return (
        _chart(counts, _step_of_numbers(max(counts)), lambda value: f"{value:,.0f}", now, "Jobs started per hour"),
        _chart(medians, _step_of_seconds(max(medians)), _short, now, "Median wait"),
    )


def _filled(values: Sequence[float | None]) -> list[float]:
    """An hour in which nothing started is drawn as the one before it."""
    filled, last = [], next((value for value in values if value is not None), 0.0)
    for value in values:
        last = last if value is None else value
        filled.append(last)
    return filled


def _chart(values: Sequence[float], step: float, words: Any, now: datetime, what: str) -> Chart:
    top = max(step, step * -(-max(values) // step))
    points = [(_x(place), HEIGHT - (HEIGHT - TOP) * value / top) for place, value in enumerate(values)]
    line = "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in points)
    grid = [step * number for number in range(int(top / step) + 1)]
    return Chart(
        line=line,
        area=f"{line}L{WIDTH - RIGHT} {HEIGHT}L{LEFT} {HEIGHT}Z",
        rows=tuple((f"{_y(value, top):.1f}", f"{_y(value, top) + 4:.1f}", words(value)) for value in grid),
        columns=tuple(_below(place, now) for place in (0, 6, 12, 18, HOURS - 1)),
        label=(
            f"{what} over the last 24 hours: between {words(min(values))} and {words(max(values))}, "
            f"{words(values[-1])} in the last hour"
        ),
    )


def _x(place: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * place / (HOURS - 1)


def _y(value: float, top: float) -> float:
    return HEIGHT - (HEIGHT - TOP) * value / top


def _below(place: int, now: datetime) -> tuple[str, str, str]:
    if place == HOURS - 1:
        return f"{_x(place):.0f}", "end", "now"
    at = timezone.localtime(now - timedelta(hours=HOURS - 1 - place))
    return f"{_x(place):.0f}", "start" if place == 0 else "middle", at.strftime("%H:%M")


def _step_of_numbers(most: float) -> float:
    """A round number that goes at most three times into the highest."""
    return next(
        float(digit * 10**power) for power in range(12) for digit in (1, 2, 5) if digit * 10**power * 3 >= most
    )  # fmt: skip


def _step_of_seconds(most: float) -> float:
    return float(next((step for step in STEPS if step * 3 >= most), STEPS[-1] * max(1, -(-most // (3 * STEPS[-1])))))


def _short(seconds: float) -> str:
    return duration(seconds, coarse=True) if seconds else "0"
