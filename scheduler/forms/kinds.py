"""How the text of a form field becomes a value of the job document, and back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_WHOLE = re.compile(r"-?\d{1,18}")
_DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,9}")
_DURATION = re.compile(r"(\d{1,9})\s*(s|min|m|h|d)", re.IGNORECASE)
_SECONDS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
_FRAMEWORK = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(.*)")


class UnreadableError(ValueError):
    """A text that cannot become a value; the message says what would be right."""


Rows = tuple[tuple[str, str], ...]
"""(name, value) pairs as they stand in a form, empty ones and doubles included."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A pair of functions: `read` may raise `UnreadableError`; `show` may raise anything for a value it cannot show."""

    read: Callable[[str], Any]
    show: Callable[[Any], str]

    def shown(self, value: Any) -> str | None:
        """The text for a value, or None where the text would not lead back to the very same value."""
        try:
            text = self.show(value)
            back = self.read(text)
        except (UnreadableError, AttributeError, TypeError, ValueError):
            return None
        return text if back == value and type(back) is type(value) else None


def _number(raw: str) -> Any:
    """A number where it is one, else the text itself: the parser then says what is wrong with it."""
    if _WHOLE.fullmatch(raw):
        return int(raw)
    return float(raw) if _DECIMAL.fullmatch(raw) else raw


def _seconds(raw: str) -> Any:
    found = _DURATION.fullmatch(raw)
    return int(found[1]) * _SECONDS[found[2].lower()] if found else _number(raw)


def _spoken_seconds(value: Any) -> str:
    if isinstance(value, int) and value > 0:
        for name in ("d", "h", "min"):
            if value % _SECONDS[name] == 0:
                return f"{value // _SECONDS[name]} {name}"
    return str(value)


def _argv(raw: str) -> list[str]:
    try:
        return shlex.split(raw)
    except ValueError as error:
        raise UnreadableError(f"words as a shell splits them ({str(error).lower()})") from error


def _lines(raw: str) -> list[str]:
    return [line.strip() for line in raw.splitlines() if line.strip()]


def _items(raw: str) -> list[str]:
    return [item.strip() for item in re.split(r"[,\n]", raw) if item.strip()]


def _pairs(lines: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals:
            raise UnreadableError(f"name=value; `{line}` has no `=`")
        _add(found, name.strip(), value.strip())
    return found


def rows_read(rows: Rows) -> dict[str, str]:
    """What named values in rows make; rows in which nothing stands are passed over. No complaint shows a value."""
    found: dict[str, str] = {}
    for number, (name, value) in enumerate(rows, 1):
        if not name and value:
            raise UnreadableError(f"a name for the value in row {number}")
        if name:
            _add(found, name, value)
    return found


def rows_shown(values: Any) -> Rows | None:
    """The rows for named values; None where a row would not lead back to the very same ones."""
    if not isinstance(values, dict):
        return None
    rows = tuple(values.items())
    return rows if all(_is_row(name, value) for name, value in rows) else None


def _is_row(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return bool(name) and as_sent(name) == name and not set(value) & {"\n", "\r"}


def as_sent(text: str, *, lines: bool = False) -> str:
    """What is left of a text when a browser has sent it: of one line, or of several."""
    if lines:
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return text.replace("\n", "").replace("\r", "").strip()


def _add(found: dict[str, str], name: str, value: str) -> None:
    if name in found:
        raise UnreadableError(f"each name once; `{name}` is there twice")
    found[name] = value


def _frameworks(raw: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _lines(raw):
        parts = _FRAMEWORK.fullmatch(line)
        if not parts:
            raise UnreadableError(f"a name and a rule, such as `torch >=2.5,<3`; `{line}` is neither")
        found[parts[1]] = parts[2]
    return found


def _truth(raw: str) -> Any:
    """True or false, else the text itself: the parser then says what is wrong with it."""
    return {"true": True, "false": False}.get(raw, raw)


def _pairs_shown(between: str, separator: str) -> Callable[[Any], str]:
    return lambda value: separator.join(f"{name}{between}{item}".strip() for name, item in value.items())


TEXT = Kind(str, str)
NUMBER = Kind(_number, str)
SECONDS = Kind(_seconds, _spoken_seconds)
ARGV = Kind(_argv, shlex.join)
ITEMS = Kind(_items, ", ".join)
LABELS = Kind(lambda raw: _pairs(_items(raw)), _pairs_shown("=", ", "))
TRUTH = Kind(_truth, lambda value: str(value).lower())
FRAMEWORKS = Kind(_frameworks, _pairs_shown(" ", "\n"))
