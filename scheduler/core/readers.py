"""Readers of single values: each answers with the value, or notes what is wrong with it and answers None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from operator import itemgetter
from typing import TypeVar

from scheduler.core.reading import At, Reader, can_be_stored, is_printable, quoted, shortened, show

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_LONGEST_WORD = 60


def line(*, what: str, longest: int, empty: bool = False) -> Reader[str]:
    """A reader of one line of text; `what` names such values in the plural."""

    def read(value: object, at: At) -> str | None:
        if not isinstance(value, str):
            at.wrong(value, f"text: quote it ({what} are text; put it in quotes)" if _was_text(value) else "text")
        elif not value and not empty:
            at.wrong(value, "text that is not empty, or leave the field out")
        elif len(value) > longest:
            at.note(f"{len(value):,} characters", f"at most {longest:,}")
        elif not is_printable(value):
            at.wrong(value, "one line of text without control or direction characters")
        else:
            return value
        return None

    return read


def free_text(*, what: str, longest: int) -> Reader[str]:
    """A reader of any text that can be passed to a process, several lines and the empty text included."""

    def read(value: object, at: At) -> str | None:
        if not isinstance(value, str):
            at.wrong(value, f"text: quote it ({what} are text; put it in quotes)" if _was_text(value) else "text")
        elif len(value) > longest:
            at.note(f"{len(value):,} characters", f"at most {longest:,}")
        elif not can_be_stored(value):
            at.wrong(value, "text without NUL and without halves of characters")
        else:
            return value
        return None

    return read


def _was_text(value: object) -> bool:
    return isinstance(value, bool | int | float)


def whole(least: int, most: int) -> Reader[int]:
    """A reader of a whole number within bounds."""

    def read(value: object, at: At) -> int | None:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        at.wrong(value, f"a whole number from {least:,} to {most:,}")
        return None

    return read


def truth(value: object, at: At) -> bool | None:
    """A reader of true or false."""
    if isinstance(value, bool):
        return value
    at.wrong(value, "true or false")
    return None


def one_of(choices: type[E]) -> Reader[E]:
    """A reader of one of a few words."""
    words = [choice.value for choice in choices]

    def read(value: object, at: At) -> E | None:
        if isinstance(value, str) and value in words:
            return choices(value)
        near = get_close_matches(value[:_LONGEST_WORD].lower(), words, n=1) if isinstance(value, str) else []
        at.wrong(value, f"one of {', '.join(words)}" + (f" (did you mean {near[0]}?)" if near else ""))
        return None

    return read


def instant(value: object, at: At) -> datetime | None:
    """A reader of an ISO 8601 instant with its offset; the answer is in UTC."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) and len(value) <= _LONGEST_WORD else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    at.wrong(value, 'an instant with its offset, such as "2026-11-30T18:00:00Z"')
    return None


def checked(reader: Reader[str], convert: Callable[[str], T | None], expected: str) -> Reader[T]:
    """A reader of text that must also mean something; `convert` answers None where it does not."""

    def read(value: object, at: At) -> T | None:
        text = reader(value, at)
        if text is None:
            return None
        meaning = convert(text)
        if meaning is None:
            at.wrong(value, expected)
        return meaning

    return read


def converted(convert: Callable[[object], T | None], expected: str) -> Reader[T]:
    """A reader of whatever `convert` understands."""

    def read(value: object, at: At) -> T | None:
        meaning = convert(value)
        if meaning is None:
            at.wrong(value, expected)
        return meaning

    return read


def list_of(reader: Reader[T], *, most: int, distinct: bool = False, least: int = 0) -> Reader[tuple[T, ...]]:
    """A reader of a list, each item by `reader`; what is wrong with an item leaves it out."""

    def read(value: object, at: At) -> tuple[T, ...] | None:
        if not isinstance(value, list | tuple):
            at.wrong(value, "a list")
            return None
        if not least <= len(value) <= most:
            at.note(f"{len(value):,} items", f"at least {least:,}" if len(value) < least else f"at most {most:,}")
            return None
        items: list[T] = []
        seen: set[T] = set()
        for place, entry in enumerate(value):
            item = reader(entry, at.below(place))
            if item is not None and distinct and item in seen:
                at.below(place).wrong(entry, "each only once")
            elif item is not None:
                items.append(item)
                seen.add(item)
        return tuple(items)

    return read


def pairs_of(key: Reader[str], value: Reader[T], *, most: int) -> Reader[tuple[tuple[str, T], ...]]:
    """A reader of a mapping as pairs sorted by key; what is wrong with a pair leaves it out."""

    def read(found: object, at: At) -> tuple[tuple[str, T], ...] | None:
        if not isinstance(found, Mapping):
            at.wrong(found, "a mapping")
            return None
        if len(found) > most:
            at.note(f"{len(found):,} entries", f"at most {most:,}")
            return None
        pairs: dict[str, T] = {}
        for name, entry in found.items():
            place = at.below(shortened(name) if isinstance(name, str) else show(name))
            read_name, read_entry = key(name, place), value(entry, place)
            if read_name is not None and read_name in pairs:
                place.wrong(name, f"each name once; {quoted(read_name)} stands here twice")
            elif read_name is not None and read_entry is not None:
                pairs[read_name] = read_entry
        return tuple(sorted(pairs.items(), key=itemgetter(0)))

    return read
