"""The lives of jobs, attempts and tasks: which state may follow which, and the only way to move between them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scheduler.models import Attempt, AttemptState, Job, JobState, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.models.jobs import JOB_OVER
from workers.machine import Machine, table

JOB = Machine(
    model=Job,
    kind="job",
    subject=lambda job: job.job_id,
    moves=table(
        queued="paused assigned cancelled failed",
        paused="queued cancelled",
        # Back to queued: an attempt of which no task started.
        assigned="queued running cancelling succeeded failed cancelled timed_out",
        running="queued cancelling succeeded failed cancelled timed_out",
        cancelling="succeeded failed cancelled timed_out",
    ),
)
ATTEMPT = Machine(
    model=Attempt,
    kind="attempt",
    since=None,
    moves=table(
        assigned="running succeeded failed cancelled timed_out revoked lost",
        # Revoked after its start: one of a gang could not start although all had been ready.
        running="succeeded failed cancelled timed_out revoked lost",
    ),
)
TASK = Machine(
    model=Task,
    kind="task",
    moves=table(
        assigned="claimed revoked",
        # Straight to an end: it could not be started at all.
        claimed="running succeeded failed timed_out cancelled revoked unknown",
        running="succeeded failed timed_out cancelled unknown",
        # Back to claimed, or revoked: its agent is heard of again, and had not started it.
        unknown="claimed running succeeded failed timed_out cancelled revoked lost",
    ),
)


def move_job(
    job: Job, to: JobState, *, frm: JobState | str, actor: str, now: datetime, cause: str = "", **fields: Any
) -> bool:
    """Move a job if it still is in `frm`; False otherwise. Raises `IllegalMoveError`."""
    if to in JOB_OVER:
        fields.setdefault("finished_at", now)
    return JOB.move(job, to, frm=frm, actor=actor, now=now, cause=cause, **fields)


def move_attempt(
    attempt: Attempt, to: AttemptState, *, frm: AttemptState | str, actor: str, now: datetime, cause: str = ""
) -> bool:
    """Move an attempt if it still is in `frm`, ending it with its last state. Raises `IllegalMoveError`."""
    fields = {} if to == AttemptState.RUNNING else {"active": False, "ended_at": now}
    return ATTEMPT.move(attempt, to, frm=frm, actor=actor, now=now, cause=cause, **fields)


def move_task(
    task: Task, to: TaskState, *, frm: TaskState | str, actor: str, now: datetime, cause: str = "", **fields: Any
) -> bool:
    """Move a task if it still is in `frm`; False otherwise. Raises `IllegalMoveError`."""
    if to not in TASK_UNFINISHED:
        fields.setdefault("finished_at", now)
    return TASK.move(task, to, frm=frm, actor=actor, now=now, cause=cause, **fields)
