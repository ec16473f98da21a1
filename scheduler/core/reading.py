"""Reading untrusted documents: what is wrong with a value is noted and reading goes on, so that all is told at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TypeVar
from unicodedata import category

from scheduler.core.errors import DocumentError, Problem

T = TypeVar("T")

MOST_PROBLEMS = 200
_SHOWN = 60
_JOINERS = "\u200c\u200d"


class Sink:
    """Collects the problems of one document; past a bound they are only counted."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.count = 0

    def add(self, problem: Problem) -> None:
        """Note one more problem."""
        self.count += 1
        if self.count <= MOST_PROBLEMS:
            self.problems.append(problem)

    def error(self) -> DocumentError:
        """Everything that was noted, as the error to raise."""
        more = self.count - MOST_PROBLEMS
        rest = [Problem("", f"{more:,} more problems", "these to be set right first")] if more > 0 else []
        return DocumentError([*self.problems, *rest])


class At:
    """A place in a document; its path is spelled out only when something is wrong there."""

    __slots__ = ("_name", "_parent", "sink")

    def __init__(self, sink: Sink, name: str | int = "", parent: At | None = None) -> None:
        self.sink = sink
        self._name = name
        self._parent = parent

    def below(self, name: str | int) -> At:
        """The place of one of its fields or items."""
        return At(self.sink, name, self)

    @property
    def path(self) -> str:
        """Its place as people write it: `placement.worker_ids[2]`."""
        above = self._parent.path if self._parent else ""
        if isinstance(self._name, int):
            return f"{above}[{self._name}]"
        if self._name and self._parent and not self._name.replace("_", "a").isalnum():
            return f"{above}[{quoted(self._name)}]"
        return f"{above}.{self._name}" if above and self._name else above or self._name

    def wrong(self, value: object, expected: str) -> None:
        """Note that this value stands here and what would be right."""
        self.note(show(value), expected)

    def note(self, found: str, expected: str) -> None:
        """Note a problem in words of the caller's."""
        self.sink.add(Problem(self.path, found, expected))


Reader = Callable[[object, At], T | None]


class Section:
    """A mapping of known fields. Unknown ones, and what is no mapping at all, are noted at once."""

    def __init__(self, value: object, at: At, known: tuple[str, ...]) -> None:
        self.at = at
        self._fields: Mapping[object, object] = {}
        if not isinstance(value, Mapping):
            at.wrong(value, "a mapping of fields")
            return
        self._fields = value
        for name in value:
            if name not in known:
                self._unknown(name, known)

    def _unknown(self, name: object, known: tuple[str, ...]) -> None:
        if not isinstance(name, str):
            self.at.note(f"{show(name)} as a field's name", "field names that are text")
            return
        nearest = get_close_matches(name[:_SHOWN].lower(), known, n=1, cutoff=0)[0]
        self.at.below(shortened(name)).note("an unknown field", f"a known one; the nearest is {nearest}")

    def __contains__(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def get(self, name: str) -> object:
        """The raw value, None where it is absent."""
        return self._fields.get(name)

    def read(self, name: str, reader: Reader[T]) -> T | None:
        """The field as the reader understands it; None where it is absent, null or wrong."""
        value = self._fields.get(name)
        return None if value is None else reader(value, self.at.below(name))

    def read_or(self, name: str, reader: Reader[T], default: T) -> T:
        """The same, with a value for what is absent, null or wrong."""
        value = self.read(name, reader)
        return default if value is None else value

    def require(self, name: str, reader: Reader[T], expected: str) -> T | None:
        """The same; a field that is absent or null is a problem too."""
        if self._fields.get(name) is None:
            self.at.below(name).note("nothing", expected)
            return None
        return self.read(name, reader)


def show(value: object) -> str:
    """What was found, short and safe to print."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number that is far too large"
    if isinstance(value, int | float):
        return f"{value} (a number)"
    if isinstance(value, str):
        return quoted(value)
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "something else"


def quoted(text: str) -> str:
    """Text in quotes, shortened, with everything escaped that would not show as it is."""
    short = shortened(text)
    return json.dumps(short, ensure_ascii=not is_printable(short))


def shortened(text: str) -> str:
    """The beginning of a text that may be very long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


NOT_SEEN = "only characters that can be seen, on one line"


def is_printable(text: str) -> bool:
    """Whether a text is one line without control, direction and private marks, and survives UTF-8."""
    return text.isprintable() or not any(
        category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp") and mark not in _JOINERS for mark in text
    )


def can_be_stored(text: str) -> bool:
    """Whether a text can be passed on as it is: no NUL, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= mark <= "\udfff" for mark in text)
