"""What agents are told: what to start, what to stop, and what became of what they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When

from scheduler.models import JobState, Task, TaskState
from scheduler.models.attempts import DRAINED
from scheduler.services import contact
from scheduler.services.leases import Running
from scheduler.services.outcomes import ENDED_BADLY, OVERDUE
from workers.services import Standing

_IN_HAND = (TaskState.CLAIMED, TaskState.RUNNING, TaskState.UNKNOWN)
_FAILED_SIBLING = Task.objects.filter(attempt=OuterRef("attempt"), state__in=ENDED_BADLY).order_by()
"""Of a gang of which one has failed the others are ended; the task itself is unfinished, so never among these."""


def _to_end(now: datetime) -> Q:
    """Tasks whose job is cancelled or whose hold is over, that are overdue, or that are to leave a drained worker."""
    job = Q(attempt__job__state=JobState.CANCELLING) | Q(attempt__job__hold_until__lte=now)
    return job | Q(failure_code__in=(OVERDUE, DRAINED)) | Q(Exists(_FAILED_SIBLING))


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


def orders(which: Q, *, now: datetime, running: Mapping[int, Sequence[Running]] | None = None) -> Orders:
    """For the workers that `which` selects on tasks. `running`: by worker id, what its agent says it runs."""
    unfinished = Task.objects.filter(which, state__in=(TaskState.ASSIGNED, *_IN_HAND))
    tasks = _rows(unfinished.annotate(to_end=Case(When(_to_end(now), then=True), default=False)), "to_end")
    assignments = tuple(
        Assigned(row["pk"], row["attempt__fence"], row["attempt__job__job_id"], row["worker__name"])
        for row in tasks
        if row["state"] == TaskState.ASSIGNED
    )
    in_hand = [row for row in tasks if row["state"] != TaskState.ASSIGNED]
    cancel = tuple(row["pk"] for row in in_hand if row["to_end"])
    own = {(row["worker_id"], row["pk"], row["attempt__fence"]) for row in in_hand}
    strange = [
        (worker, task, fence)
        for worker, many in (running or {}).items()
        for task, fence in many
        if (worker, task, fence) not in own
    ]
    return Orders(assignments, cancel, kill=_not_theirs(strange))


def wanting(which: Q, *, now: datetime) -> frozenset[int]:
    """Of which tasks `orders` has something to say, for much less: it is asked several times a second."""
    waiting = Q(state=TaskState.ASSIGNED) | (Q(state__in=_IN_HAND) & _to_end(now))
    return frozenset(Task.objects.filter(which, waiting).values_list("pk", flat=True))


def reunite(
    running: Mapping[int, Sequence[Running]], *, now: datetime, standings: Mapping[int, Standing] | None = None
) -> dict[int, Reunion]:
    """Bring tasks in step with what registering workers (by id) run: the rest of theirs is over and let go of.

    A registration is the agent's word that no process of any other task is alive on its machine. Only where the same
    run of the agent registers again, a task that it is about to claim may be missing; a late call changes nothing.
    """
    open_tasks = _rows(Task.objects.filter(worker__in=running, released_at=None).exclude(state=TaskState.ASSIGNED))
    reunions: dict[int, Reunion] = {}
    for worker, told in running.items():
        own = {(row["pk"], row["attempt__fence"]): row["state"] for row in open_tasks if row["worker_id"] == worker}
        adopt = tuple(task for task, fence in told if own.get((task, fence)) in _IN_HAND)
        who = (standings or {}).get(worker, Standing())
        if who.is_old:
            reunions[worker] = Reunion(adopt)
            continue
        _let_go_of_the_rest(own, set(told), who, now)
        rest = [(worker, task, fence) for task, fence in told if task not in adopt]
        kill = {task for _, task, _ in rest} - set(_let_go(rest))
        forget = tuple(task for _, task, _ in rest if task not in kill)
        reunions[worker] = Reunion(adopt, tuple(sorted(kill)), forget)
    return reunions


def _let_go_of_the_rest(own: Mapping[Running, str], told: set[Running], who: Standing, now: datetime) -> None:
    for task, fence in own.keys() - told:
        if not (who.same_instance and own[task, fence] == TaskState.CLAIMED):
            contact.let_go_of(task, now=now, cause="its worker registered without it", restarted=who.restarted)


def _rows(tasks: QuerySet[Task], *more: str) -> list[dict[str, Any]]:
    fields = (
        "pk",
        "state",
        "worker_id",
        "worker__name",
        "attempt__fence",
        "attempt__job__job_id",
        *more,
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
