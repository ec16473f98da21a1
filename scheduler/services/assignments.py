"""What agents are told: what to start, what to stop, and what became of what they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from scheduler.models import JobState, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services import holding
from scheduler.services.machines import move_task
from scheduler.services.reports import locked
from scheduler.services.settling import settle

_IN_HAND = (TaskState.CLAIMED, TaskState.RUNNING, TaskState.UNKNOWN)

Running = tuple[int, int]
"""A task's id and its fence, as an agent says that it runs it."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """A task that waits to be claimed."""

    task: int
    fence: int
    job_id: str
    worker: str


@dataclass(frozen=True, slots=True)
class Orders:
    """What to claim, what to cancel, what to kill because it is not theirs any more."""

    assignments: tuple[Assigned, ...]
    cancel: tuple[int, ...]
    kill: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reunion:
    """What becomes of what a registering agent runs: its ids, each in one of three lists."""

    adopt: tuple[int, ...] = ()
    kill: tuple[int, ...] = ()
    forget: tuple[int, ...] = ()


def orders(which: Q, *, running: Mapping[int, Sequence[Running]] | None = None) -> Orders:
    """For the workers that `which` selects on tasks. `running`: by worker id, what its agent says it runs."""
    tasks = _rows(Task.objects.filter(which, state__in=(TaskState.ASSIGNED, *_IN_HAND)))
    assignments = tuple(
        Assigned(row["pk"], row["attempt__fence"], row["attempt__job__job_id"], row["worker__name"])
        for row in tasks
        if row["state"] == TaskState.ASSIGNED
    )
    in_hand = [row for row in tasks if row["state"] != TaskState.ASSIGNED]
    cancel = tuple(row["pk"] for row in in_hand if row["attempt__job__state"] == JobState.CANCELLING)
    own = {(row["worker_id"], row["pk"], row["attempt__fence"]) for row in in_hand}
    strange = [
        (worker, task, fence)
        for worker, many in (running or {}).items()
        for task, fence in many
        if (worker, task, fence) not in own
    ]
    return Orders(assignments, cancel, kill=_not_theirs(strange))


def reunite(running: Mapping[int, Sequence[Running]], *, now: datetime) -> dict[int, Reunion]:
    """Bring tasks in step with what registering workers (by id) run: the rest of theirs is over and let go of.

    A registration is the agent's word that no process of any other task is alive on its machine.
    """
    open_tasks = _rows(Task.objects.filter(worker__in=running, released_at=None).exclude(state=TaskState.ASSIGNED))
    reunions: dict[int, Reunion] = {}
    for worker, told in running.items():
        own = {(row["pk"], row["attempt__fence"]): row["state"] for row in open_tasks if row["worker_id"] == worker}
        for task, _ in own.keys() - set(told):
            _give_up(task, now)
        adopt = tuple(task for task, fence in told if own.get((task, fence)) in _IN_HAND)
        rest = [(worker, task, fence) for task, fence in told if task not in adopt]
        kill = {task for _, task, _ in rest} - set(_let_go(rest))
        forget = tuple(task for _, task, _ in rest if task not in kill)
        reunions[worker] = Reunion(adopt, tuple(sorted(kill)), forget)
    return reunions


def _rows(tasks: QuerySet[Task]) -> list[dict[str, Any]]:
    fields = (
        "pk",
        "state",
        "worker_id",
        "worker__name",
        "attempt__fence",
        "attempt__job__job_id",
        "attempt__job__state",
    )
    return list(tasks.order_by("pk").values(*fields))


def _not_theirs(strange: list[tuple[int, int, int]]) -> tuple[int, ...]:
    """Those that are neither a task of that worker with that fence nor one that merely waits to be released."""
    if not strange:
        return ()
    known = Task.objects.filter(pk__in={task for _, task, _ in strange}).exclude(state__in=_GIVEN_UP)
    fine = set(known.values_list("worker_id", "pk", "attempt__fence"))
    return tuple(sorted({task for worker, task, fence in strange if (worker, task, fence) not in fine}))


_GIVEN_UP = (TaskState.LOST, TaskState.REVOKED)


def _let_go(rest: Iterable[tuple[int, int, int]]) -> list[int]:
    """Those that were finished and released here: their agent may forget them."""
    rest = list(rest)
    if not rest:
        return []
    released = Task.objects.filter(pk__in={task for _, task, _ in rest}, released_at__isnull=False)
    fine = set(released.values_list("worker_id", "pk", "attempt__fence"))
    return [task for worker, task, fence in rest if (worker, task, fence) in fine]


@transaction.atomic
def _give_up(task_id: int, now: datetime) -> None:
    """The worker came back without this task: over if it ran, back to the queue if it never started."""
    rows = locked(task_id)
    cause = "its worker registered without it"
    if rows.task.state in TASK_UNFINISHED:
        if rows.task.state == TaskState.CLAIMED:
            move_task(rows.task, TaskState.REVOKED, frm=TaskState.CLAIMED, actor=rows.actor, now=now, cause=cause)
        else:
            if rows.task.state == TaskState.RUNNING:
                move_task(rows.task, TaskState.UNKNOWN, frm=TaskState.RUNNING, actor=rows.actor, now=now, cause=cause)
            move_task(rows.task, TaskState.LOST, frm=TaskState.UNKNOWN, actor=rows.actor, now=now, cause=cause)
        settle(rows.job, rows.attempt, actor=rows.actor, now=now)
    holding.release([rows.task], now=now)
