"""Reservations as they are shown: the phase of each, and the tasks it waits for. A few queries for any number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet

from scheduler.models import Job, Reservation, Task
from scheduler.models.jobs import JOB_OVER
from scheduler.queue import own_reservations
from scheduler.services.reservations import is_live
from scheduler.services.visibility import SOMEBODY_ELSES, ids_in, seen_by, seen_ids, sees_all, without_others

KIND_WORDS: Mapping[str, str] = {"job": "job", "user": "person", "team": "team"}
"""What holders are called in sentences."""
MOST_FOUND = 500
MOST_TASKS = 20
"""Tasks that are named for one reservation."""


class Phase(StrEnum):
    """Where a reservation stands."""

    ACTIVE = "active"
    WAITS = "waits"
    """Its time has begun, and tasks of others still run there: they are not stopped."""
    PLANNED = "planned"
    OVER = "over"


LIVE_PHASES = (Phase.ACTIVE, Phase.WAITS, Phase.PLANNED)
CHOICES: Mapping[str, str] = {
    "live": "Now and to come",
    "active": "Now",
    "planned": "To come",
    "over": "Over",
    "all": "All",
}


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A task that runs where something is reserved for another one. `until`: by its limit; None: none, or hidden."""

    job_id: str
    devices: tuple[int, ...]
    until: datetime | None
    hidden: bool = False
    """Not for the viewer to know by name."""

    @property
    def name(self) -> str:
        """By which it is told."""
        return SOMEBODY_ELSES if self.hidden else self.job_id


@dataclass(frozen=True, slots=True)
class ReservationRow:
    """A reservation and what there is to say of it."""

    reservation: Reservation
    phase: Phase
    in_the_way: tuple[InTheWay, ...] = ()
    job_state: str = ""
    """Of a job it is for: the state; `gone` for one that is there no more."""
    holder_hidden: bool = False
    ended_cause: str = ""
    """Why it was ended early, as the viewer may read it."""

    @property
    def name(self) -> str:
        """`r-41`, as people call it."""
        return f"r-{self.reservation.pk}"

    @property
    def kind(self) -> str:
        """`job`, `user` or `team`."""
        return self.reservation.holder.partition(":")[0]

    @property
    def kind_word(self) -> str:
        """The kind as people say it."""
        return KIND_WORDS[self.kind]

    @property
    def holder(self) -> str:
        """The holder's own name."""
        return SOMEBODY_ELSES if self.holder_hidden else self.reservation.holder.partition(":")[2]

    @property
    def job_is_over(self) -> bool:
        """Its job needs it no more: it ends at the next look."""
        return self.phase != Phase.OVER and self.job_state in (*JOB_OVER, "gone")


def holder_words(holder: str) -> str:
    """`job j-12`, `person mira`, `team vision`."""
    kind, _, name = holder.partition(":")
    return f"{KIND_WORDS.get(kind, kind)} {name}"


def in_phase(phase: str, now: datetime) -> QuerySet[Reservation]:
    """Reservations of one of `CHOICES`."""
    rows = Reservation.objects.all()
    over = Q(cancelled_at__isnull=False) | Q(ends_at__isnull=False, ends_at__lte=now)
    if phase == "over":
        return rows.filter(over)
    if phase == "all":
        return rows
    rows = rows.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), cancelled_at__isnull=True)
    if phase == "active":
        return rows.filter(starts_at__lte=now)
    return rows.filter(starts_at__gt=now) if phase == "planned" else rows


def matching(
    rows: QuerySet[Reservation], user: Any, *, q: str = "", kind: str = "", worker: str = ""
) -> QuerySet[Reservation]:
    """Those whose worker, holder or note has this text, of this kind of holder, of this worker.

    By the id of a job they are found only by who sees that job.
    """
    if q:
        number = q.removeprefix("r-")
        by_number = Q(pk=int(number)) if number.isascii() and number.isdigit() and len(number) < 19 else Q()
        rows = rows.filter(Q(worker__name__icontains=q) | _for_holder(q, user) | Q(note__icontains=q) | by_number)
    if kind:
        rows = rows.filter(holder__startswith=f"{kind}:")
    return rows.filter(worker__name=worker) if worker else rows


def _for_holder(q: str, user: Any) -> Q:
    if sees_all(user):
        return Q(holder__icontains=q)
    own = seen_by(user).filter(job_id__icontains=q).values_list("job_id", flat=True)[:MOST_FOUND]
    others = Q(holder__icontains=q) & ~Q(holder__startswith="job:")
    return others | Q(holder__in=[f"job:{job_id}" for job_id in own])


def rows_for(user: Any, reservations: Sequence[Reservation], now: datetime) -> tuple[ReservationRow, ...]:
    """As this user may see them; None sees all. Five queries."""
    tasks = _tasks_on({row.worker_id for row in reservations if is_live(row, now)})
    named = {row.holder.removeprefix("job:") for row in reservations if row.holder.startswith("job:")}
    states = dict(Job.objects.filter(job_id__in=named).values_list("job_id", "state"))
    told = {job_id for row in reservations for job_id in ids_in(row.ended_cause)}
    shown = _shown(user, {*named, *told, *(job_id for some in tasks.values() for _, job_id, _, _ in some)})
    rows = (_row(row, tasks.get(row.worker_id, ()), states, shown, now) for row in reservations)
    if user is None or sees_all(user):
        return tuple(rows)
    return tuple(replace(row, ended_cause=without_others(row.ended_cause, shown)) for row in rows)


def _shown(user: Any, job_ids: Collection[str]) -> Collection[str]:
    return frozenset(job_ids) if user is None else seen_ids(user, job_ids)


_OnWorker = tuple[tuple[int, ...], str, frozenset[str], datetime | None]
"""Devices, job, its holders, and until when at the latest."""


def _row(
    row: Reservation, tasks: Iterable[_OnWorker], states: Mapping[str, str], shown: Collection[str], now: datetime
) -> ReservationRow:
    kind, _, name = row.holder.partition(":")
    job_state = states.get(name, "gone") if kind == "job" else ""
    hidden = kind == "job" and name in states and name not in shown
    if not is_live(row, now):
        return ReservationRow(
            row, Phase.OVER, job_state=job_state, holder_hidden=hidden, ended_cause=row.ended_cause
        )  # fmt: skip
    waits_for = tuple(
        InTheWay(job_id, devices, until) if job_id in shown else InTheWay(job_id, devices, None, hidden=True)
        for devices, job_id, holders, until in tasks
        if row.holder not in holders and _is_there(row, devices) and (until is None or until > row.starts_at)
    )[:MOST_TASKS]
    begun = Phase.WAITS if waits_for else Phase.ACTIVE
    return ReservationRow(row, begun if row.starts_at <= now else Phase.PLANNED, waits_for, job_state, hidden)


def _is_there(row: Reservation, devices: Collection[int]) -> bool:
    return not row.devices or bool(set(row.devices) & set(devices))


def _tasks_on(workers: Collection[int]) -> Mapping[int, list[_OnWorker]]:
    """What holds something of these workers."""
    rows = Task.objects.filter(worker__in=workers, released_at__isnull=True)
    rows = rows.select_related("attempt__job__owner", "attempt__job__team").order_by("pk")
    tasks = list(rows.defer("attempt__job__secrets"))
    teams = _teams_of({task.attempt.job.owner_id for task in tasks if task.attempt.job.team_id is None})
    found: defaultdict[int, list[_OnWorker]] = defaultdict(list)
    for task in tasks:
        job = task.attempt.job
        holders = own_reservations(job, teams.get(job.owner_id, ()))
        found[task.worker_id].append((tuple(task.devices), job.job_id, holders, _until(task, job)))
    return found


def _teams_of(owners: Collection[int]) -> Mapping[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for owner, name in Group.objects.filter(user__in=owners).values_list("user", "name"):
        found[owner].append(name)
    return found


def _until(task: Task, job: Job) -> datetime | None:
    """When it ends at the latest."""
    if job.hold_until is not None:
        return job.hold_until
    seconds = job.spec.get("timeout_s")
    return task.started_at + timedelta(seconds=int(seconds)) if seconds and task.started_at else None
