"""Contact with hosts, lost and found again: what becomes of the tasks there, and who may give them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from scheduler.models import Job, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services import leases
from scheduler.services.holding import release, take_back
from scheduler.services.leases import Running
from scheduler.services.machines import TASK, move_task
from scheduler.services.reports import Held, locked, one_each
from scheduler.services.settling import settle
from workers.models import Liveness
from workers.refusals import Refused

ACTOR = "scheduler"
_AWAY = (Liveness.SUSPECT, Liveness.LOST, Liveness.REVOKED)
LEFT_TEXT = "its worker came back without it: its agent does not hold it any more"
RESTARTED_TEXT = "its worker came back after a restart of the machine, without it"


def lose_sight(now: datetime) -> None:
    """Call unknown what may run on workers that are not heard of. Nothing is ended by this."""
    let_go = Task.objects.exclude(attempt__go_at=None, started_at=None)
    for state in (TaskState.CLAIMED, TaskState.RUNNING):
        gone = list(let_go.filter(released_at=None, state=state, worker__liveness__in=_AWAY).only("pk", "state"))
        if gone:
            TASK.move_all(gone, TaskState.UNKNOWN, frm=state, actor=ACTOR, now=now, cause="contact lost")


def heard(running: Mapping[int, Sequence[Running]], *, now: datetime) -> None:
    """Take what workers (by id) say they hold for what they hold: unknown tasks are known again.

    A task that was claimed, and that its agent has not spoken of for as long as a claim may take, is taken back.
    """
    late = now - timedelta(seconds=settings.GPULAYER_CLAIM_SECONDS)
    dropped = Q(state=TaskState.CLAIMED, state_since__lte=late, started_at=None)
    rows = Task.objects.filter(Q(state=TaskState.UNKNOWN) | dropped, worker__in=running)
    for worker, task, fence, state in rows.order_by("pk").values_list("worker_id", "pk", "attempt__fence", "state"):
        is_told = (task, fence) in running[worker]
        if is_told and state == TaskState.UNKNOWN:
            find_again(task, now=now)
        elif not is_told and state == TaskState.CLAIMED:
            let_go_of(task, now=now, cause="its agent does not hold it")


@transaction.atomic
def find_again(task_id: int, *, now: datetime) -> None:
    """Its worker is heard of, and has it: it is what it was before contact was lost."""
    rows = locked(task_id)
    if rows.task.state == TaskState.UNKNOWN:
        to = TaskState.RUNNING if rows.task.started_at else TaskState.CLAIMED
        move_task(rows.task, to, frm=TaskState.UNKNOWN, actor=rows.actor, now=now, cause="heard of again")


@transaction.atomic
def let_go_of(task_id: int, *, now: datetime, cause: str, restarted: bool = False) -> None:
    """The worker says that it has no such task: over if it ran, back to the queue if it never started."""
    rows = locked(task_id)
    if rows.task.state in TASK_UNFINISHED:
        if rows.task.started_at is None:
            move_task(rows.task, TaskState.REVOKED, frm=rows.task.state, actor=rows.actor, now=now, cause=cause)
        else:
            code, text = ("host_restarted", RESTARTED_TEXT) if restarted else ("lost", LEFT_TEXT)
            _lose([rows.task], actor=rows.actor, now=now, cause=cause, code=code, text=text)
        settle(rows, now=now)
    release([rows.task], now=now)


def end_leases(now: datetime) -> None:
    """Give up what had a lease that is over, with the margin: its hosts have ended it by themselves before."""
    unreleased = Task.objects.filter(released_at=None, attempt__leased_until__lte=leases.over(now))
    for task_id in one_each(unreleased):
        _end_lease(task_id, now)


@transaction.atomic
def _end_lease(task_id: int, now: datetime) -> None:
    rows = locked(task_id)
    passed = leases.passed(rows.tasks, rows.attempt, now)
    text = f"its host was out of contact for longer than its lease of {rows.attempt.lease_seconds} seconds"
    _close(rows, passed, actor=ACTOR, now=now, cause="its lease is over", text=text)


def close_revoked(now: datetime) -> None:
    """Give up what revoked workers have not reported while they still could."""
    since = leases.over(now) - timedelta(seconds=settings.GPULAYER_LEASE_SECONDS)
    unreleased = Task.objects.filter(released_at=None, worker__liveness=Liveness.REVOKED)
    silent = unreleased.filter(Q(worker__credential=None) | Q(worker__credential__revoked_at__lte=since))
    for task_id in silent.order_by("pk").values_list("pk", flat=True):
        _close_revoked(task_id, now)


@transaction.atomic
def _close_revoked(task_id: int, now: datetime) -> None:
    rows = locked(task_id)
    text = f"the credential of {rows.worker.name} was revoked, and it has not said what became of its tasks"
    _close(rows, [rows.task], actor=ACTOR, now=now, cause="its worker was revoked", text=text)


@transaction.atomic
def give_up_on(*, job: Job, actor: str, now: datetime) -> Job:
    """Take a job's unreachable tasks for lost, and free what they hold, although they may still run on their hosts.

    For its owner and operators, who know better or do not mind; ask before. When a host returns, it is told to end
    them. Refused: `not_out_of_contact`, where every host of the job is there. Returns the job as it is then.
    """
    text = f"given up by {actor.removeprefix('user:')} while its host was out of contact"
    unreleased = Task.objects.filter(attempt__job=job, released_at=None, worker__liveness__in=_AWAY)
    given_up = 0
    for task_id in one_each(unreleased.exclude(state=TaskState.ASSIGNED)):
        rows = locked(task_id)
        away = [task for task in rows.tasks if task.released_at is None and task.worker.liveness in _AWAY]
        _close(rows, away, actor=actor, now=now, cause="given up", text=text)
        given_up += len(away)
    if not given_up:
        raise Refused("not_out_of_contact", f"{job.job_id} is on no host that is out of contact")
    job.refresh_from_db()
    return job


def lost_since(job: Job) -> datetime | None:
    """Since when there is no contact with a host on which this job may run; None where there is."""
    unknown = Task.objects.filter(attempt__job=job, attempt__active=True, state=TaskState.UNKNOWN)
    return unknown.order_by("state_since").values_list("state_since", flat=True).first()


def _close(rows: Held, tasks: Iterable[Task], *, actor: str, now: datetime, cause: str, text: str) -> None:
    """End what is unfinished of these as lost, and free what all of them hold. What was never let go is no loss."""
    tasks = list(tasks)
    if not tasks:
        return
    take_back(tasks, rows.attempt, actor=actor, now=now, cause=cause)
    _lose(tasks, actor=actor, now=now, cause=cause, code="lost", text=text)
    settle(rows, now=now, actor=actor)
    release(tasks, now=now)


def _lose(tasks: Iterable[Task], *, actor: str, now: datetime, cause: str, code: str, text: str) -> None:
    for task in tasks:
        if task.state not in TASK_UNFINISHED:
            continue
        if task.state != TaskState.UNKNOWN:
            move_task(task, TaskState.UNKNOWN, frm=task.state, actor=actor, now=now, cause=cause)
        move_task(
            task, TaskState.LOST, frm=TaskState.UNKNOWN, actor=actor, now=now, cause=cause,
            failure_code=code, failure_text=text,
        )  # fmt: skip
