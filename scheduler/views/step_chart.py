"""A small chart of a number that changes in steps, as a drawing without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler.core.history_words import nearness_words
from workers.moments import minute

WIDTH, HEIGHT, LEFT, RIGHT, TOP = 1300, 64, 44, 10, 14
LABELS = 4

Turn = tuple[datetime, int, int, str]


@dataclass(frozen=True, slots=True)
class StepChart:
    """Coordinates and words of one drawing: what is free against what is needed."""

    line: str
    area: str
    need_at: float
    need_words: str
    levels: tuple[tuple[float, int], ...]
    """(height, number) of the scale."""
    times: tuple[tuple[float, str, str], ...]
    """(place, word, anchor) along the time."""
    label: str
    width: int = WIDTH
    right: int = WIDTH - RIGHT
    left: int = LEFT
    height: int = HEIGHT
    whole: int = HEIGHT + 24
    foot: int = HEIGHT + 20


def step_chart(turns: Sequence[Turn], *, until: datetime) -> StepChart | None:
    """How it went until then; None where there is nothing to see: fewer than two instants."""
    if not turns or until <= turns[0][0]:
        return None
    since, (_, last, needed, unit) = turns[0][0], turns[-1]
    most = max(needed, *(free for _, free, _, _ in turns))
    seconds = (until - since).total_seconds()

    def x(at: datetime) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (at - since).total_seconds() / seconds, 1)

    def y(number: int) -> float:
        return round(HEIGHT - (HEIGHT - TOP) * number / max(most, 1), 1)

    moves = "".join(f"H{x(at)}V{y(free)}" for at, free, _, _ in turns[1:])
    line = f"M{LEFT} {y(turns[0][1])}{moves}H{x(until)}"
    frees = [free for _, free, _, _ in turns]
    return StepChart(
        line=line,
        area=f"{line}V{HEIGHT}H{LEFT}Z",
        need_at=y(needed),
        need_words=f"needs {needed:,} {'of one torch version' if unit == 'workers' else 'on one worker'}",
        levels=tuple((y(number), number) for number in sorted({0, needed // 2})),
        times=_times(since, until),
        label=nearness_words(min(frees), max(frees), last, needed, unit, minute(since, now=until)),
    )


def _times(since: datetime, until: datetime) -> tuple[tuple[float, str, str], ...]:
    step, width = (until - since) / (LABELS - 1), (WIDTH - LEFT - RIGHT) / (LABELS - 1)
    anchors = ["start", *["middle"] * (LABELS - 2), "end"]
    words = [minute(since + step * place, now=until) for place in range(LABELS)]
    return tuple(
        (round(LEFT + width * place, 1), words[place], anchors[place])
        for place in range(LABELS)
        if place in (0, LABELS - 1) or words[place] not in words[:place]
    )
