"""What agents do with tasks given to them: claim, decline, start, finish, release.

Late and repeated calls change nothing. What may start when, is `barrier`'s to say; for how long, `leases`'.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.models import AttemptState, DeviceHold, JobState, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services import barrier, holding, holds, leases
from scheduler.services.barrier import Gang
from scheduler.services.log_check import compare_with_report
from scheduler.services.logs import append_log as append_to_file
from scheduler.services.machines import move_attempt, move_job, move_task
from scheduler.services.outcomes import outcome
from scheduler.services.reports import FinishReport, Held, glanced, held, keep_evidence
from scheduler.services.settling import settle
from scheduler.services.trust import distrust
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
    lease_seconds: int | None
    gang: Gang | None


@transaction.atomic
def claim(
    *, credential: Credential, task_id: int, fence: int, epoch: int, now: datetime, master_port: int | None = None
) -> Claim:
    """Take an assigned task; claiming again is answered alike, with `go` as it is by then.

    Refused: `not_assigned`, `master_port_missing`, `no_master_address` and what guards every call.
    """
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    spec = parse_job(rows.job.spec)
    if rows.task.state in (TaskState.ASSIGNED, TaskState.UNKNOWN) and rows.task.started_at is None:
        claimed_at = rows.task.claimed_at or now
        move_task(rows.task, TaskState.CLAIMED, frm=rows.task.state, actor=rows.actor, now=now, claimed_at=claimed_at)
    if rows.task.state != TaskState.CLAIMED:
        raise Refused("not_assigned", f"task {task_id} is {rows.task.state}")
    barrier.note_port(rows, spec, master_port)
    go = barrier.open_if_ready(rows, now=now)
    devices = DeviceHold.objects.filter(task=rows.task, released_at=None).order_by("device__index")
    return Claim(
        rows=rows,
        spec=spec,
        devices=tuple(devices.values_list("device__index", "device__uuid")),
        go=go,
        lease_seconds=leases.begin(rows.job, rows.attempt, now=now),
        gang=barrier.gang_of(rows, spec),
    )


@transaction.atomic
def decline(
    *, credential: Credential, task_id: int, fence: int, epoch: int, code: str, detail: str, now: datetime
) -> Held:
    """Give a task back before its start, through no fault of the job: all of its attempt goes back to the queue.

    Again it changes nothing. Refused: `already_started`, `task_over`.
    """
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    if rows.task.state == TaskState.REVOKED:
        return rows
    if rows.task.started_at is not None:
        raise Refused("already_started", f"task {task_id} is {rows.task.state}; say how it ended instead")
    if rows.task.state not in TASK_UNFINISHED:
        raise Refused("task_over", f"task {task_id} is {rows.task.state}")
    barrier.decline(rows, code, detail, now=now)
    return rows


@transaction.atomic
def started(
    *, credential: Credential, task_id: int, fence: int, epoch: int, pid: int, workdir: str, now: datetime
) -> Held:
    """The process runs. Again, or after its end, it changes nothing.

    Refused: `not_claimed`, `not_ready` (its gang is not complete), `task_over`.
    """
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    state = rows.task.state
    if state == TaskState.ASSIGNED:
        raise Refused("not_claimed", f"task {task_id} was not claimed")
    if state in _GIVEN_UP:
        raise Refused("task_over", f"task {task_id} is {state}: end its processes and release it")
    if rows.task.started_at is not None or state not in (TaskState.CLAIMED, TaskState.UNKNOWN):
        return rows
    if rows.attempt.go_at is None:
        raise Refused("not_ready", f"the gang of task {task_id} is not complete: end it, and claim again")
    move_task(
        rows.task, TaskState.RUNNING, frm=state, actor=rows.actor, now=now, started_at=now, pid=pid, workdir=workdir
    )
    if rows.attempt.state == AttemptState.ASSIGNED:
        move_attempt(rows.attempt, AttemptState.RUNNING, frm=AttemptState.ASSIGNED, actor=rows.actor, now=now)
    if rows.job.state == JobState.ASSIGNED:
        move_job(rows.job, JobState.RUNNING, frm=JobState.ASSIGNED, actor=rows.actor, now=now, started_at=now)
        holds.begin(rows.job, now=now)
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
    compare_with_report(rows.task.pk, now=now)
    return rows


def _too_late(rows: Held, report: FinishReport) -> Refused | None:
    if rows.task.report is None and rows.task.state not in TASK_UNFINISHED:
        return Refused("task_over", f"task {rows.task.pk} is {rows.task.state}; nothing can be reported of it")
    if rows.task.report is not None and rows.task.report != report.document():
        return Refused("already_finished", f"task {rows.task.pk} ended as {rows.task.state}; the first report stands")
    return None


def _end(rows: Held, report: FinishReport, now: datetime) -> None:
    to, code, text = outcome(report, rows)
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
        log_sha256=report.log_sha256,
        outputs_path=report.outputs_path or "",
    )
    settle(rows, now=now)
    if to == TaskState.FAILED:
        distrust(rows.worker, now=now)


@transaction.atomic
def release(*, credential: Credential, task_id: int, fence: int, epoch: int, now: datetime) -> Held:
    """Its processes are gone: what the task held is free. Again it changes nothing. Refused: `not_finished`."""
    rows = held(credential=credential, task_id=task_id, fence=fence, epoch=epoch)
    if rows.task.state in TASK_UNFINISHED:
        raise Refused("not_finished", f"task {task_id} is {rows.task.state}; finish it first")
    holding.release([rows.task], now=now)
    return rows
