"""The barrier of a gang: its tasks start together or not at all. A plain job is a gang of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from scheduler.core.gang import plan_group
from scheduler.core.spec import JobSpec
from scheduler.facts import facts_by_id
from scheduler.models import JobState, Task, TaskState
from scheduler.services.holding import release, take_back
from scheduler.services.machines import move_task
from scheduler.services.reports import Held, locked, one_each
from scheduler.services.settling import settle
from workers.models import Liveness
from workers.refusals import Refused

ACTOR = "scheduler"
NOT_CLAIMED = "not_claimed"
_UNSTARTED = (TaskState.ASSIGNED, TaskState.CLAIMED, TaskState.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """What a member must be told about the others; address and port only once all may start."""

    num_workers: int
    procs_per_worker: int
    node_rank: int
    launcher: str | None
    comm_backend: str | None
    master_address: str | None
    master_port: int | None


def note_port(rows: Held, spec: JobSpec, port: int | None) -> None:
    """Keep the port that rank 0 of a gang found free; the first one stands.

    Refused: `master_port_missing` (422), where a real worker claims rank 0 without one.
    """
    if spec.distributed is None or rows.task.rank != 0 or rows.attempt.master_port is not None:
        return
    if port is None:
        if rows.worker.simulated:
            return
        raise Refused("master_port_missing", "rank 0 of a gang says on which free port it will listen", status=422)
    rows.attempt.master_port = port
    rows.attempt.save(update_fields=["master_port"])


def open_if_ready(rows: Held, *, now: datetime) -> bool:
    """Whether the attempt's tasks may start: since all of them have been claimed, for good."""
    wanted = rows.attempt.go_at is None and rows.job.state != JobState.CANCELLING
    if wanted and all(task.state == TaskState.CLAIMED for task in rows.tasks):
        rows.attempt.go_at = now
        rows.attempt.save(update_fields=["go_at"])
    return rows.attempt.go_at is not None


def gang_of(rows: Held, spec: JobSpec) -> Gang | None:
    """What this task is told of its gang; None for a plain job."""
    if spec.distributed is None:
        return None
    open_ = rows.attempt.go_at is not None
    return Gang(
        num_workers=spec.distributed.num_workers,
        procs_per_worker=spec.distributed.procs_per_worker,
        node_rank=rows.task.rank,
        launcher=spec.distributed.launcher,
        comm_backend=spec.distributed.comm_backend,
        master_address=_master_address(rows, spec) if open_ else None,
        master_port=rows.attempt.master_port if open_ else None,
    )


def _master_address(rows: Held, spec: JobSpec) -> str:
    ids = [task.worker.facts_id for task in rows.tasks if task.worker.facts_id is not None]
    facts = facts_by_id(ids)
    members = [facts[pk] for pk in ids if pk in facts]
    try:
        return plan_group(spec, members).master_address
    except ValueError as error:
        raise Refused("no_master_address", f"{rows.tasks[0].worker.name} has no address any more") from error


def decline(rows: Held, code: str, detail: str, *, now: datetime) -> None:
    """Take the whole attempt back: one of its agents could not start its task, through no fault of the job.

    That is the agent's word that no process of it was started. What others of its gang have started is told to stop,
    and the attempt is over when it has.
    """
    move_task(
        rows.task, TaskState.REVOKED, frm=rows.task.state, actor=rows.actor, now=now, cause=code,
        failure_code=code, failure_text=detail,
    )  # fmt: skip
    release([rows.task], now=now)
    settle(rows, now=now)


def expire(now: datetime) -> None:
    """Take back the attempts that were not claimed in time, and those whose workers are not there to claim them."""
    late = now - timedelta(seconds=settings.GPULAYER_CLAIM_SECONDS)
    shut = Task.objects.filter(
        released_at=None, state__in=_UNSTARTED, started_at=None, attempt__active=True, attempt__go_at=None
    )
    doubtful = shut.filter(Q(attempt__created_at__lte=late) | ~Q(worker__liveness=Liveness.ONLINE))
    for task_id in one_each(doubtful):
        _expire(task_id, late, now)


@transaction.atomic
def _expire(task_id: int, late: datetime, now: datetime) -> None:
    rows = locked(task_id)
    if not rows.attempt.active or rows.attempt.go_at is not None:
        return
    gone = [task for task in rows.tasks if task.worker.liveness != Liveness.ONLINE]
    if rows.attempt.created_at > late and not gone:
        return
    unclaimed = [task for task in rows.tasks if task.state == TaskState.ASSIGNED and task not in gone]
    seconds = settings.GPULAYER_CLAIM_SECONDS
    take_back(
        [] if gone else unclaimed, rows.attempt, actor=ACTOR, now=now, cause=NOT_CLAIMED, code=NOT_CLAIMED,
        text=f"its agent did not take it on within {seconds:g} seconds",
    )  # fmt: skip
    take_back(rows.tasks, rows.attempt, actor=ACTOR, now=now, cause="its gang was not ready in time")
    settle(rows, now=now, actor=ACTOR)
