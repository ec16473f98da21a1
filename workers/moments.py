"""Times in words."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(seconds: float, *, coarse: bool = False) -> str:
    """Rounded down to at most two units that follow each other: `2 d 4 h`, `4 min 12 s`, `0.4 s`.

    Coarse: whole seconds, and from one minute on no seconds.
    """
    if 0 < seconds < 10 and not coarse:
        return f"{seconds:.1f}".rstrip("0").rstrip(".") + " s"
    left = max(0, int(seconds))
    for place, (name, length) in enumerate(UNITS):
        if left >= length:
            return _in_words(left, place, name, one=coarse and name == "min")
    return "0 s"


def _in_words(left: int, place: int, name: str, *, one: bool) -> str:
    whole, rest = divmod(left, UNITS[place][1])
    if one or place + 1 == len(UNITS):
        return f"{whole} {name}"
    next_name, next_length = UNITS[place + 1]
    second = rest // next_length
    return f"{whole} {name} {second} {next_name}" if second else f"{whole} {name}"


def clock(at: datetime, *, now: datetime) -> str:
    """The time of day for today, with the date for any other day, in the zone of whoever looks."""
    at, now = timezone.localtime(at), timezone.localtime(now)
    return at.strftime("%H:%M:%S") if at.date() == now.date() else at.strftime("%Y-%m-%d %H:%M")


def minute(at: datetime, *, now: datetime) -> str:
    """The same without seconds, for instants that somebody plans by."""
    at, now = timezone.localtime(at), timezone.localtime(now)
    return at.strftime("%H:%M" if at.date() == now.date() else "%Y-%m-%d %H:%M")


def now() -> datetime:
    """The server's clock, for what pages say."""
    return timezone.now()
