"""JSON text -> plain data, without doubled keys, NaN and numbers that no one can mean."""

from __future__ import annotations

import json
from math import isfinite
from typing import NoReturn

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.reading import quoted, shortened

DEEPEST = 50
LONGEST_NUMBER = 60


class NotJsonError(DocumentError):
    """The text does not follow JSON's grammar at all."""


def refuse(path: str, found: str, expected: str) -> NoReturn:
    """Raise one problem."""
    raise DocumentError([Problem(path, found, expected)])


def whole_number(text: str) -> int:
    """The digits as a number; raises `DocumentError` for absurdly many."""
    if len(text) > LONGEST_NUMBER:
        refuse("", f"a number of {len(text):,} digits", "a number of a sensible size")
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def real_number(text: str) -> float:
    """The number; raises `DocumentError` where it is not finite."""
    number = float(text) if len(text) <= LONGEST_NUMBER else float("inf")
    if not isfinite(number):
        refuse("", f"the number {shortened(text)}", "a finite number of a sensible size")
    return number


def read_json(text: str, *, most_nodes: int | None = None) -> object:
    """The one document of the text; raises `DocumentError`."""
    try:
        data = json.loads(
            text, object_pairs_hook=_mapping, parse_constant=_constant, parse_int=whole_number, parse_float=real_number
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise NotJsonError([Problem(place, error.msg[:1].lower() + error.msg[1:], "JSON")]) from error
    except RecursionError:
        refuse("", "a document that is nested too deeply", f"at most {DEEPEST} levels")
    _check_bounds(data, most_nodes)
    return data


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in data if names.count(name) > 1}) if len(pairs) < 1_000 else ["a field"]
        refuse("", f"{', '.join(map(quoted, twice))} more than once in one mapping", "each field once")
    return data


def _constant(text: str) -> NoReturn:
    refuse("", text, "a finite number")


def _check_bounds(data: object, most_nodes: int | None) -> None:
    """Walk without recursion, so that depth is an answer and not a crash."""
    level, depth, nodes = [data], 0, 0
    while level:
        depth += 1
        nodes += len(level)
        if depth > DEEPEST:
            refuse("", "a document that is nested too deeply", f"at most {DEEPEST} levels")
        if most_nodes is not None and nodes > most_nodes:
            refuse("", f"more than {most_nodes:,} values", f"at most {most_nodes:,}")
        level = [child for node in level if isinstance(node, dict | list) for child in _children(node)]


def _children(node: dict[str, object] | list[object]) -> list[object]:
    return list(node.values()) if isinstance(node, dict) else node
