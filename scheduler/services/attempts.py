"""What agents do with tasks given to them: claim, start, finish, release. Late and repeated calls change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.models import AttemptState, DeviceHold, JobState, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services import holding
from scheduler.services.logs import append_log as append_to_file
from scheduler.services.machines import move_attempt, move_job, move_task
from scheduler.services.reports import FinishReport, Held, glanced, held, keep_evidence, outcome
from scheduler.services.settling import settle
from workers.models import Credential
from workers.refusals import Refused

_GIVEN_UP = (TaskState.REVOKED, TaskState.LOST)


@dataclass(frozen=True, slots=True)
class Claim:
    """Everything an agent needs to run the task. `go`: it may start now. `devices`: (index, uuid) pairs."""

    rows: Held
    spec: JobSpec
    devices: tuple[tuple[int, str | None], ...]
    go: bool


@transaction.atomic
def claim(*, credential: Credential, task_id: int, fence: int, epoch: int, now: datetime) -> Claim:
    """Take an assigned task; claiming again is answered alike. Refused: `not_assigned` and what guards every call."""
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    if rows.task.state == TaskState.ASSIGNED:
        move_task(rows.task, TaskState.CLAIMED, frm=TaskState.ASSIGNED, actor=rows.actor, now=now, claimed_at=now)
    if rows.task.state != TaskState.CLAIMED:
        raise Refused("not_assigned", f"task {task_id} is {rows.task.state}")
    holds = DeviceHold.objects.filter(task=rows.task, released_at=None).order_by("device__index")
    waiting = Task.objects.filter(attempt=rows.attempt, state=TaskState.ASSIGNED).exists()
    return Claim(
        rows, parse_job(rows.job.spec), tuple(holds.values_list("device__index", "device__uuid")), go=not waiting
    )


@transaction.atomic
def started(
    *, credential: Credential, task_id: int, fence: int, epoch: int, pid: int, workdir: str, now: datetime
) -> Held:
    """The process runs. Again, or after its end, it changes nothing. Refused: `not_claimed`, `task_over`."""
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    state = rows.task.state
    if state == TaskState.ASSIGNED:
        raise Refused("not_claimed", f"task {task_id} was not claimed")
    if state in _GIVEN_UP:
        raise Refused("task_over", f"task {task_id} is {state}: end its processes and release it")
    if state != TaskState.CLAIMED:
        return rows
    move_task(
        rows.task, TaskState.RUNNING, frm=state, actor=rows.actor, now=now, started_at=now, pid=pid, workdir=workdir
    )
    if rows.attempt.state == AttemptState.ASSIGNED:
        move_attempt(rows.attempt, AttemptState.RUNNING, frm=AttemptState.ASSIGNED, actor=rows.actor, now=now)
    if rows.job.state == JobState.ASSIGNED:
        move_job(rows.job, JobState.RUNNING, frm=JobState.ASSIGNED, actor=rows.actor, now=now, started_at=now)
    return rows


def append_log(*, credential: Credential, task_id: int, fence: int, offset: int, body: bytes, now: datetime) -> int:
    """Append frames to the log of a task that has not been given up; return its size. Refused: as in `logs`."""
    task = glanced(credential=credential, task_id=task_id, fence=fence)
    if task.state == TaskState.ASSIGNED:
        raise Refused("not_claimed", f"task {task_id} was not claimed")
    if task.state in _GIVEN_UP:
        raise Refused("task_over", f"task {task_id} is {task.state}")
    return append_to_file(task_id=task_id, offset=offset, body=body, now=now)


def finish(
    *, credential: Credential, task_id: int, fence: int, epoch: int, report: FinishReport, now: datetime
) -> Held:
    """The process is over. The same report again is fine; of two different ones the first stands.

    Refused: `not_claimed`; `already_finished` and `task_over`, which keep the report as evidence.
    """
    with transaction.atomic():
        rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
        if rows.task.state == TaskState.ASSIGNED:
            raise Refused("not_claimed", f"task {task_id} was not claimed")
        refusal = _too_late(rows, report)
        if refusal is None and rows.task.report is None:
            _end(rows, report, now)
        elif refusal is not None:
            keep_evidence(rows, report, now=now)
    if refusal is not None:
        raise refusal
    return rows


def _too_late(rows: Held, report: FinishReport) -> Refused | None:
    if rows.task.state in _GIVEN_UP:
        return Refused("task_over", f"task {rows.task.pk} is {rows.task.state}; nothing can be reported of it")
    if rows.task.report is not None and rows.task.report != report.document():
        return Refused("already_finished", f"task {rows.task.pk} ended as {rows.task.state}; the first report stands")
    return None


def _end(rows: Held, report: FinishReport, now: datetime) -> None:
    to, code, text = outcome(report, rows.job, was=rows.task.state)
    move_task(
        rows.task,
        to,
        frm=rows.task.state,
        actor=rows.actor,
        now=now,
        exit_code=report.exit_code,
        signal=report.signal,
        duration_ms=report.duration_ms,
        failure_code=code,
        failure_text=text,
        report=report.document(),
    )
    settle(rows.job, rows.attempt, actor=rows.actor, now=now)


@transaction.atomic
def release(*, credential: Credential, task_id: int, fence: int, epoch: int, now: datetime) -> Held:
    """Its processes are gone: what the task held is free. Again it changes nothing. Refused: `not_finished`."""
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    if rows.task.state in TASK_UNFINISHED:
        raise Refused("not_finished", f"task {task_id} is {rows.task.state}; finish it first")
    holding.release([rows.task], now=now)
    return rows
