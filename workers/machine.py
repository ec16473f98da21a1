"""State machines over rows: a table of legal moves, each made by compare-and-set together with its event."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models, transaction

from workers.models import Event, Health, Intent, Liveness, Worker


class IllegalMoveError(ValueError):
    """A move that the machine's table doesn't have: a mistake in the calling code, never a race."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One state field of one model, and which state may follow which."""

    model: type[models.Model]
    kind: str
    """The subject's kind in events."""
    moves: Mapping[str, frozenset[str]]
    field: str = "state"
    since: str | None = "state_since"
    """The field that gets the instant of the move."""
    subject: Callable[[Any], str] = dataclasses.field(default=lambda row: str(row.pk))
    """A row's name in events; it may read no other row."""

    def check(self, frm: str, to: str) -> None:
        """Raise `IllegalMoveError` unless the table has this move."""
        if to not in self.moves.get(frm, frozenset()):
            raise IllegalMoveError(f"a {self.kind} never goes from {self.field} {frm!r} to {to!r}")

    def move(self, row: Any, to: str, *, frm: str, actor: str, now: datetime, cause: str = "", **fields: Any) -> bool:
        """Move one row if it still is in `frm`, setting `fields` with it. False: it was elsewhere by then."""
        return bool(self.move_all([row], to, frm=frm, actor=actor, now=now, cause=cause, **fields))

    @transaction.atomic
    def move_all(
        self, rows: Iterable[Any], to: str, *, frm: str, actor: str, now: datetime, cause: str = "", **fields: Any
    ) -> list[Any]:
        """Move those rows that still are in `frm`, for three queries, and return them. Raises `IllegalMoveError`."""
        self.check(frm, to)
        by_key = {row.pk: row for row in rows}
        changes = {self.field: to, **({self.since: now} if self.since else {}), **fields}
        movable = self.model._default_manager.filter(pk__in=by_key, **{self.field: frm})  # noqa: SLF001 - the public way to any model's rows
        # Locked from here on: row by row on PostgreSQL, all of it on SQLite, where every transaction is immediate.
        moved = [by_key[pk] for pk in movable.select_for_update().order_by("pk").values_list("pk", flat=True)]
        if not moved:
            return []
        movable.update(**changes)
        Event.objects.bulk_create([self.event(row, to, frm=frm, actor=actor, now=now, cause=cause) for row in moved])
        for row in moved:
            for name, value in changes.items():
                setattr(row, name, value)
        return moved

    def event(self, row: Any, to: str, *, frm: str, actor: str, now: datetime, cause: str = "") -> Event:
        """The event of one such move, not saved."""
        return Event(
            at=now, actor=actor, subject_kind=self.kind, subject=self.subject(row), verb=self.field,
            before=frm, after=to, cause=cause[:200],
        )  # fmt: skip


def table(**moves: str) -> dict[str, frozenset[str]]:
    """A table of moves from lines such as `online="suspect revoked"`."""
    return {frm: frozenset(to.split()) for frm, to in moves.items()}


def _name(worker: Worker) -> str:
    return worker.name


LIVENESS = Machine(
    model=Worker,
    kind="worker",
    field="liveness",
    subject=_name,
    moves=table(
        enrolled=f"{Liveness.ONLINE} {Liveness.SUSPECT} {Liveness.REVOKED}",
        online=f"{Liveness.SUSPECT} {Liveness.LOST} {Liveness.REVOKED}",
        suspect=f"{Liveness.ONLINE} {Liveness.LOST} {Liveness.REVOKED}",
        lost=f"{Liveness.ONLINE} {Liveness.REVOKED}",
    ),
)
INTENT = Machine(
    model=Worker,
    kind="worker",
    field="intent",
    subject=_name,
    moves=table(
        active=f"{Intent.DRAINING} {Intent.RETIRED}",
        draining=f"{Intent.ACTIVE} {Intent.DRAINED} {Intent.RETIRED}",
        drained=f"{Intent.ACTIVE} {Intent.DRAINING} {Intent.RETIRED}",
    ),
)
HEALTH = Machine(
    model=Worker,
    kind="worker",
    field="health",
    subject=_name,
    moves=table(ok=Health.UNHEALTHY, unhealthy=Health.OK),
)
