"""Moving workers through their three machines, many at once, with events and new versions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from workers.changes import bump
from workers.machine import HEALTH, INTENT, LIVENESS, Machine
from workers.models import Event, Worker

MACHINES: dict[str, Machine] = {"liveness": LIVENESS, "intent": INTENT, "health": HEALTH}


def move_worker(
    worker_id: int, to: str, *, machine: str, actor: str, now: datetime, cause: str, note: str = ""
) -> bool:
    """Move one worker; False where it is in that state already. Raises `workers.machine.IllegalMoveError`."""
    return bool(move_workers([worker_id], to, machine=machine, actor=actor, now=now, cause=cause, note=note))


@transaction.atomic
def move_workers(
    worker_ids: Iterable[int], to: str, *, machine: str, actor: str, now: datetime, cause: str, note: str = ""
) -> list[int]:
    """Move all of them, at a fixed number of queries, and return the ids of those that moved.

    `machine` is liveness, intent or health; `note` is kept beside the last two. `actor` empty: each worker itself.
    Raises `workers.machine.IllegalMoveError` before anything is written if one of them has no such move.
    """
    states = MACHINES[machine]
    asked = Worker.objects.filter(pk__in=set(worker_ids)).exclude(**{machine: to})
    rows = list(asked.select_for_update().order_by("pk"))
    for row in rows:
        states.check(getattr(row, machine), to)
    if not rows:
        return []
    moved = [row.pk for row in rows]
    notes = {} if machine == "liveness" else {f"{machine}_note": note}
    Worker.objects.filter(pk__in=moved).update(**{machine: to, "state_since": now, **notes})
    Event.objects.bulk_create([_event(states, row, to, actor=actor, now=now, cause=cause) for row in rows])
    bump(moved)
    return moved


def _event(states: Machine, row: Worker, to: str, *, actor: str, now: datetime, cause: str) -> Event:
    frm = getattr(row, states.field)
    return states.event(row, to, frm=frm, actor=actor or f"worker:{row.name}", now=now, cause=cause)
