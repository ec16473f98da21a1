"""The small change of sentences: numbers, lists, holders and instants as people say them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from scheduler.core.reasons import Fact, Reason

UNKNOWN = "an unknown value never satisfies a requirement"
MOST_NAMES = 5
Clock = Callable[[datetime], str]
"""How an instant is said; pages say it in the viewer's zone."""
Words = Callable[[Reason, Clock], str]
"""What makes a reason's sentence."""


def in_utc(moment: datetime) -> str:
    """An instant where no viewer's zone is known: `2026-11-30 18:00 UTC`."""
    text = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00")
    return f"{text} UTC"


def number(fact: Fact) -> int:
    """A figure of a reason; 0 where it is none."""
    return fact if isinstance(fact, int) else 0


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 GPU`, `1,200 GPUs`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def agrees(number: int, one: str, many: str) -> str:
    """The verb that goes with a number: `1 has`, `0 have`."""
    return one if number == 1 else many


def part(have: int | None, of: int | None) -> str:
    """`1 of 4`."""
    return f"{have or 0:,} of {of or 0:,}"


def attempt_words(number: int, retries: int) -> str:
    """`2 of 4`, where so many retries are allowed; nothing where the first is the only one.

    An attempt of which nothing started is repeated without counting as one: a number above all of them stands alone.
    """
    if retries < 1 and number <= 1:
        return ""
    return part(number, retries + 1) if number <= retries + 1 else f"{number:,}"


def names(several: Iterable[object], *, most: int = MOST_NAMES) -> str:
    """`a, b, c`; of many only the first, and how many more there are."""
    shown = [str(name) for name in several]
    rest = len(shown) - most
    return ", ".join(shown) if rest <= 1 else f"{', '.join(shown[:most])}, +{rest:,}"


def either(several: Iterable[object]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *before, last = [str(name) for name in several] or ["none"]
    return f"{', '.join(before)} or {last}" if before else last


def both(several: Iterable[object]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *before, last = [str(name) for name in several] or ["none"]
    return f"{', '.join(before)} and {last}" if before else last


def devices(indices: tuple[int, ...]) -> str:
    """`device 3`, `devices 0 and 1`, `devices 0–7`."""
    if not indices:
        return "devices"
    if len(indices) == 1:
        return f"device {indices[0]}"
    first, last = indices[0], indices[-1]
    if len(indices) > 2 and indices == tuple(range(first, last + 1)):
        return f"devices {first}–{last}"
    return f"devices {both(indices)}"


def holder(name: str) -> str:
    """A holder as people say it: `team vision`, `mira`, `job j-12`."""
    kind, _, rest = name.partition(":")
    return rest if kind == "user" else f"{kind} {rest}" if rest else name


def holders(several: Iterable[str]) -> str:
    """Several holders."""
    return both(holder(name) for name in several)


def reserved_for(reason: Reason, clock: Clock) -> str:
    """`reserved for team vision until 18:00`."""
    end = f" until {clock(reason.until)}" if reason.until else ", with no end"
    return f"reserved for {holders(reason.holders)}{end}"


def reserved_ahead(reason: Reason, clock: Clock) -> str:
    """`reserved for team vision from 18:00 until 20:00`."""
    start = f" from {clock(reason.since)}" if reason.since else ""
    end = f" until {clock(reason.until)}" if reason.until else ""
    return f"reserved for {holders(reason.holders)}{start}{end}"


def lasting(seconds: int) -> str:
    """A span in at most two units, rounded down: `45 s`, `20 min`, `3 h 20 min`, `2 d 4 h`."""
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    larger, smaller, units = (*divmod(minutes, 60), ("h", "min"))
    if larger >= 24:
        larger, smaller, units = (*divmod(larger, 24), ("d", "h"))
    return f"{larger:,} {units[0]} {smaller} {units[1]}" if smaller else f"{larger:,} {units[0]}"


def value(text: Fact) -> str:
    """A text value that may be empty."""
    return '""' if text == "" else str(text)


def listed(fact: Fact) -> str:
    """A list of names, or that there is none."""
    if isinstance(fact, tuple):
        return names(fact) if fact else "none"
    return "none" if fact is None else str(fact)


def capability(specifier: Fact) -> str:
    """A rule over compute capabilities: `≥ 8.0` for the common kind, else the specifier itself."""
    text = str(specifier)
    return f"≥ {text[2:]}" if text.startswith(">=") and "," not in text else text
