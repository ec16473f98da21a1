"""Explanations back from their documents, so that whoever is sent one says it with the same words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from scheduler.core.parsing import parse_job
from scheduler.core.reasons import CODES, Code
from scheduler.core.spec import JobSpec

T = TypeVar("T")


def from_document(kind: type[T], document: object) -> T:
    """The value that `to_document` wrote as this document.

    Raises KeyError, TypeError, ValueError or `DocumentError` where it was written by another version of the rules.
    """
    value: T = _read(kind, document)
    return value


def _read(kind: Any, document: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _optional(get_args(kind), document)
    if origin is tuple:
        return _tuple(get_args(kind), document)
    if kind in _READ:
        return _READ[kind](document)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(document)
    return _dataclass(kind, document) if is_dataclass(kind) else document


def _optional(kinds: tuple[Any, ...], document: Any) -> Any:
    """A value that may be missing; of several kinds, those that JSON itself tells apart."""
    known = [kind for kind in kinds if kind is not NoneType]
    return _read(known[0], document) if document is not None and len(known) == 1 else document


def _tuple(kinds: tuple[Any, ...], document: Any) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], one) for one in document)
    return tuple(_read(kind, one) for kind, one in zip(kinds, document, strict=True))


def _dataclass(kind: Any, document: Any) -> Any:
    return kind(**{name: _read(hint, document[name]) for name, hint in _hints(kind).items()})


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


_READ: Mapping[Any, Callable[[Any], Any]] = {
    Code: CODES.__getitem__,
    JobSpec: parse_job,
    datetime: datetime.fromisoformat,
    timedelta: lambda seconds: timedelta(seconds=seconds),
}
