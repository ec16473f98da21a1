"""What an agent is told of the time its tasks have left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler.models import Task
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services import contact, leases
from scheduler.services.leases import Granted, Running


@dataclass(frozen=True, slots=True)
class HoldLeft:
    """For so many seconds from now a task holds its devices for a person."""

    task: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reminders:
    """Of one or many workers."""

    leases: tuple[Granted, ...] = ()
    holds: tuple[HoldLeft, ...] = ()


def remind(running: Mapping[int, Sequence[Running]], *, now: datetime) -> Reminders:
    """Take note of what workers (by id) say they hold, extend its leases, and say how long each may go on."""
    contact.heard(running, now=now)
    return Reminders(leases.extend(running, now=now), _holds(running, now))


def _holds(running: Mapping[int, Sequence[Running]], now: datetime) -> tuple[HoldLeft, ...]:
    told = {task for many in running.values() for task, _ in many}
    if not told:
        return ()
    rows = Task.objects.filter(pk__in=told, worker__in=running, state__in=TASK_UNFINISHED)
    held = rows.filter(attempt__job__hold_until__isnull=False).values_list("pk", "attempt__job__hold_until")
    return tuple(
        HoldLeft(task, max(0.0, (until - now).total_seconds())) for task, until in held.order_by("pk") if until
    )
