"""Which workers a form is about: one by its address, some by their names, or all that a filter matches."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from workers.paging import asked_of
from workers.queries import found_workers
from workers.refusals import Refused
from workers.services import live_workers_named

FILTERS = ("state", "q", "tier", "free")
MOST_NAMED = 1_000
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Picked:
    """Some workers, and the form fields by which they are picked again."""

    ids: tuple[int, ...]
    names: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    all_matching: bool = False

    @property
    def words(self) -> str:
        """`gpu-007`, or how many there are."""
        return self.names[0] if len(self.names) == 1 else f"{len(self.names):,} workers"

    @property
    def first(self) -> tuple[str, ...]:
        """Some of their names."""
        return self.names[:SHOWN]

    @property
    def more(self) -> int:
        """How many names are left out of those."""
        return max(0, len(self.names) - SHOWN)


def picked_one(name: str) -> Picked:
    """One worker by its name. Raises NotFound."""
    (worker,) = live_workers_named([name])
    return Picked((worker.pk,), (worker.name,), (("worker", worker.name),))


def picked_of(data: QueryDict) -> Picked:
    """Those of `worker`, or with `all` those that `state`, `q`, `tier` and `free` match.

    With `count` it is said how many these were when somebody looked; Refused `other_workers` where they are not.
    Raises NotFound for a name that there is not, Refused `none_picked`, `too_many`.
    """
    return _matching(data) if data.get("all") else _named(data)


def _named(data: QueryDict) -> Picked:
    names = data.getlist("worker")
    if not names:
        raise Refused("none_picked", "no worker is picked: tick some, or take all that the filter matches", status=422)
    if len(names) > MOST_NAMED:
        raise Refused(
            "too_many", f"{len(names):,} names; at most {MOST_NAMED:,}, or all that a filter matches", status=422
        )
    rows = live_workers_named(names)
    return Picked(
        tuple(row.pk for row in rows), tuple(row.name for row in rows), tuple(("worker", row.name) for row in rows)
    )  # fmt: skip


def _matching(data: QueryDict) -> Picked:
    asked = asked_of(data, FILTERS)
    filters = {name: asked.get(name, "") for name in FILTERS}
    rows = list(found_workers(**filters, jobs_too=True).order_by("name").values_list("pk", "name"))
    if not rows:
        raise Refused("none_picked", "no worker matches the filter", status=422)
    counted = data.get("count", "")
    if counted and counted != str(len(rows)):
        raise Refused(
            "other_workers",
            f"the filter matches {len(rows):,} workers now, and not {counted[:12]}: look again",
            status=409,
        )
    fields = (("all", "1"), *(pair for pair in filters.items() if pair[1]), ("count", str(len(rows))))
    return Picked(tuple(pk for pk, _ in rows), tuple(name for _, name in rows), fields, all_matching=True)
