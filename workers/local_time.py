"""Times as people write them, in their zone: what clock changes leave out or bring twice is told, not guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

FORMS = "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"
EXPECTED = "a date and time such as 2026-12-01 18:00"


class LocalTimeError(ValueError):
    """A text that names no one instant. Its message says what was found and what would be right."""


class GapError(LocalTimeError):
    """A time that clocks jump over. `instants`: the last minute before the jump and the first one after it."""

    def __init__(self, message: str, instants: tuple[datetime, datetime]) -> None:
        super().__init__(message)
        self.instants = instants


class TwiceError(LocalTimeError):
    """A time that clocks show twice. `instants`: the first and the second."""

    def __init__(self, message: str, instants: tuple[datetime, datetime]) -> None:
        super().__init__(message)
        self.instants = instants


def read_local(text: str, zone: tzinfo | None, *, which: int | None = None) -> datetime:
    """The instant, in UTC, that a clock in `zone` (None: this machine's) shows so. `which`: 0 the first, 1 the second.

    A text with an offset of its own (`2026-12-01T18:00+01:00`, or `Z`) is read as it says. Raises `LocalTimeError`.
    """
    said = _parsed(text.strip())
    if said.tzinfo is not None:
        return said.astimezone(UTC)
    first, second = (_instant(said.replace(fold=fold), zone) for fold in (0, 1))
    if _shown(first, zone) != said:
        raise _gap(said, zone, second, first)
    if first == second or which is not None:
        return first if not which else second
    raise TwiceError(
        f"{said:%Y-%m-%d %H:%M} comes twice, because clocks go back: "
        f"at {offset(first, zone)} and again at {offset(second, zone)}",
        (first, second),
    )


def said(at: datetime, *, now: datetime, zone: tzinfo | None) -> str:
    """An instant as a clock in `zone` shows it, to the minute; with the date where it is not today."""
    here = at.astimezone(zone)
    return here.strftime("%H:%M" if here.date() == now.astimezone(zone).date() else "%Y-%m-%d %H:%M")


def written(at: datetime, zone: tzinfo | None) -> str:
    """The same as a form's field has it: `2026-12-01T18:00`, with seconds where there are any."""
    here = at.astimezone(zone)
    return here.strftime("%Y-%m-%dT%H:%M:%S" if here.second else "%Y-%m-%dT%H:%M")


def offset(at: datetime, zone: tzinfo | None) -> str:
    """How far clocks in `zone` are from UTC then: `UTC`, `UTC+1`, `UTC-3:30`."""
    minutes = round((at.astimezone(zone).utcoffset() or timedelta()).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{hours}{f':{rest:02}' if rest else ''}" if minutes else "UTC"


def _parsed(text: str) -> datetime:
    for form in FORMS:
        try:
            return _in_reach(datetime.strptime(text, form), text)  # noqa: DTZ007 - its zone is settled by the caller
        except ValueError as error:
            if isinstance(error, LocalTimeError):
                raise
    try:
        return _in_reach(datetime.fromisoformat(text), text)
    except ValueError as error:
        raise LocalTimeError(f"found “{text[:40]}”; expected {EXPECTED}") from error


def _in_reach(at: datetime, text: str) -> datetime:
    """Far from the ends of the calendar, where no zone can be applied any more."""
    if not 1970 <= at.year <= 9000:
        raise LocalTimeError(f"found “{text[:40]}”; expected a year between 1970 and 9000")
    return at


def _instant(said: datetime, zone: tzinfo | None) -> datetime:
    return (said.replace(tzinfo=zone) if zone is not None else said).astimezone(UTC)


def _shown(at: datetime, zone: tzinfo | None) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def _gap(said: datetime, zone: tzinfo | None, early: datetime, late: datetime) -> GapError:
    """The jump lies between the two readings of the time; clocks change at whole minutes."""
    before, after = (at.replace(second=0, microsecond=0) for at in (early - timedelta(minutes=1), late))
    start = before.astimezone(zone).utcoffset()
    while after - before > timedelta(minutes=1):
        middle = (before + (after - before) / 2).replace(second=0, microsecond=0)
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == start else (before, middle)
    return GapError(
        f"{said:%Y-%m-%d %H:%M} does not exist, because clocks go forward: "
        f"after {_shown(before, zone):%H:%M} comes {_shown(after, zone):%H:%M}",
        (before, after),
    )
