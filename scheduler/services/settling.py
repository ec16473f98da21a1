"""What becomes of an attempt and its job once its tasks are over: both are a function of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from scheduler.models import AttemptState, Job, JobState, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.nudge import request_pass
from scheduler.services.again import Verdict, verdict_on
from scheduler.services.holding import take_back
from scheduler.services.machines import move_attempt, move_job
from scheduler.services.outcomes import ENDED_BADLY
from scheduler.services.reports import Held

_TELLING = (
    (TaskState.LOST, TaskState.FAILED, TaskState.TIMED_OUT),
    (TaskState.REVOKED,),
    (TaskState.CANCELLED,),
    (TaskState.SUCCEEDED,),
)
"""Which ends say how the attempt ended; of those in one group, the one that came first."""
_JOB_AFTER = {
    AttemptState.SUCCEEDED: JobState.SUCCEEDED,
    AttemptState.TIMED_OUT: JobState.TIMED_OUT,
    AttemptState.CANCELLED: JobState.CANCELLED,
    AttemptState.FAILED: JobState.FAILED,
    AttemptState.LOST: JobState.FAILED,
}


def settle(rows: Held, *, now: datetime, actor: str = "") -> None:
    """End the attempt if all of its tasks are over, and move its job on; what it never let go is over with the first.

    Call it with the rows locked. `actor` empty: the worker.
    """
    actor = actor or rows.actor
    if any(task.state in ENDED_BADLY for task in rows.tasks):
        take_back(rows.tasks, rows.attempt, actor=actor, now=now, cause=f"task {rows.task.pk} is {rows.task.state}")
    if not rows.attempt.active or any(task.state in TASK_UNFINISHED for task in rows.tasks):
        return
    telling = _telling(rows.tasks)
    state = AttemptState(telling.state)
    if state == AttemptState.REVOKED and rows.job.state == JobState.CANCELLING:
        state = AttemptState.CANCELLED
    move_attempt(rows.attempt, state, frm=rows.attempt.state, actor=actor, now=now, cause=f"task {telling.pk}")
    verdict = verdict_on(rows.job, rows.attempt, telling)
    if verdict is None:
        _end(rows.job, state, telling, among=rows.tasks, actor=actor, now=now)
        return
    cause = f"attempt {rows.attempt.number} {state}"
    move_job(rows.job, JobState.QUEUED, frm=rows.job.state, actor=actor, now=now, cause=cause)
    _pause(rows.job, verdict, now)
    request_pass()


def _telling(tasks: Sequence[Task]) -> Task:
    for group in _TELLING:
        ended = [task for task in tasks if task.state in group]
        if ended:
            return min(ended, key=lambda task: (str(task.finished_at), task.rank))
    raise ValueError("an attempt has tasks, and each of them has ended in some way")


def _pause(job: Job, verdict: Verdict, now: datetime) -> None:
    if verdict.paused_code:
        move_job(
            job, JobState.PAUSED, frm=JobState.QUEUED, actor="scheduler", now=now, cause=verdict.paused_code,
            paused_code=verdict.paused_code, paused_text=verdict.paused_text,
        )  # fmt: skip


def _end(job: Job, state: AttemptState, telling: Task, *, among: Sequence[Task], actor: str, now: datetime) -> None:
    asked = job.state == JobState.CANCELLING and state == AttemptState.LOST
    to = JobState.CANCELLED if asked else _JOB_AFTER[state]
    text = telling.failure_text
    if text and len(among) > 1:
        text = f"rank {telling.rank} on {telling.worker.name}: {text}"
    move_job(
        job,
        to,
        frm=job.state,
        actor=actor,
        now=now,
        cause=f"task {telling.pk}",
        exit_code=telling.exit_code,
        failure_code="" if asked else telling.failure_code,
        failure_text="" if asked else text,
    )
