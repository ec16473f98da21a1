"""Pages of a list by key: they stay right while rows come and go, and the last is as cheap as the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet

R = TypeVar("R")
S = TypeVar("S")

ROWS = 25
LONGEST = 200
LONGEST_NUMBER = 19


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """Some rows, where they stand in all that match, and the query strings of the neighbours (empty: none)."""

    rows: tuple[R, ...]
    first: int
    total: int | None
    previous: str
    next: str

    @property
    def last(self) -> int:
        """The place of the last row."""
        return self.first + len(self.rows) - 1

    def map(self, change: Callable[[R], S]) -> Page[S]:
        """The same page with other rows."""
        rows = tuple(change(row) for row in self.rows)
        return Page(rows, self.first, self.total, self.previous, self.next)


def asked_of(data: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """What a query string asks for under these names, and for which page; what no column can hold counts as nothing."""
    found = {name: data.get(name, "").strip()[:LONGEST] for name in (*names, "after", "before")}
    return {name: value for name, value in found.items() if value and "\0" not in value}


def by_key(
    queryset: QuerySet[Any], field: str, asked: Mapping[str, str], *, number: bool = False, descending: bool = False
) -> Page[Any]:
    """One page of rows ordered by a unique field, after or before the key that is asked for. Two queries.

    `asked` is the whole query string, whose `after` and `before` count here and whose other parts go on in the links.
    `number`: the field is one; a key that is none counts as not asked for.
    """
    after, before = (_key(asked.get(name, ""), number=number) for name in ("after", "before"))
    kept = {name: value for name, value in asked.items() if name not in ("after", "before")}
    forward, back = ("-", "") if descending else ("", "-")
    if before:
        rows = list(_beyond(queryset, field, before, less=not descending).order_by(back + field)[:ROWS])[::-1]
    else:
        start = _beyond(queryset, field, after, less=descending) if after else queryset
        rows = list(start.order_by(forward + field)[:ROWS])
    return _page(queryset, field, rows, kept, descending=descending, at_start=not (after or before))


def _page(
    queryset: QuerySet[Any], field: str, rows: list[Any], kept: dict[str, str], *, descending: bool, at_start: bool
) -> Page[Any]:
    if not rows:
        return Page((), 0, queryset.count(), "", "")
    start, end = str(getattr(rows[0], field)), str(getattr(rows[-1], field))
    before = Count("pk", filter=_further(field, start, less=not descending))
    counted = {"total": queryset.count()} if at_start else queryset.aggregate(total=Count("pk"), earlier=before)
    total, earlier = counted["total"], counted.get("earlier", 0)
    return Page(
        rows=tuple(rows),
        first=earlier + 1,
        total=total,
        previous=link(kept, before=start) if earlier else "",
        next=link(kept, after=end) if earlier + len(rows) < total else "",
    )


def _beyond(queryset: QuerySet[Any], field: str, key: str, *, less: bool) -> QuerySet[Any]:
    return queryset.filter(_further(field, key, less=less))


def _further(field: str, key: str, *, less: bool) -> Q:
    return Q(**{f"{field}__{'lt' if less else 'gt'}": key})


def _key(text: str, *, number: bool) -> str:
    return text if not number or (text.isascii() and text.isdigit() and len(text) < LONGEST_NUMBER) else ""


def link(kept: Mapping[str, str], **changes: str) -> str:
    """A query string of what is kept and what changes; what is empty is left out."""
    return urlencode({name: value for name, value in {**kept, **changes}.items() if value})
