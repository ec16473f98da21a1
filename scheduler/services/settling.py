"""What becomes of an attempt and its job once its tasks are over: both are a function of the tasks."""

from __future__ import annotations

from datetime import datetime

from scheduler.models import Attempt, AttemptState, Job, JobState, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.nudge import request_pass
from scheduler.services.machines import move_attempt, move_job

_WORST_FIRST = (
    TaskState.LOST, TaskState.FAILED, TaskState.TIMED_OUT, TaskState.CANCELLED, TaskState.REVOKED, TaskState.SUCCEEDED,
)  # fmt: skip
_JOB_AFTER = {
    AttemptState.SUCCEEDED: JobState.SUCCEEDED,
    AttemptState.TIMED_OUT: JobState.TIMED_OUT,
    AttemptState.CANCELLED: JobState.CANCELLED,
    AttemptState.FAILED: JobState.FAILED,
}
AGENTS_OWN = ("agent_stopped", "agent_ended", "agent_failed")
"""Ends that an agent brought about by its own: for `retries` the attempt was lost."""
LOST_TEXT = "its worker came back without it: the machine or its agent was restarted"


def settle(job: Job, attempt: Attempt, *, actor: str, now: datetime) -> None:
    """End the attempt if no task of it is unfinished, and move its job on. Call it with both rows locked."""
    tasks = list(Task.objects.filter(attempt=attempt).order_by("rank"))
    if any(task.state in TASK_UNFINISHED for task in tasks):
        return
    telling = min(tasks, key=lambda task: _WORST_FIRST.index(TaskState(task.state)))
    state = AttemptState(telling.state)
    move_attempt(attempt, state, frm=attempt.state, actor=actor, now=now, cause=f"task {telling.pk}")
    if _runs_again(job, state, telling):
        move_job(job, JobState.QUEUED, frm=job.state, actor=actor, now=now, cause=f"attempt {attempt.number} {state}")
        request_pass()
        return
    _end(job, state, telling, actor=actor, now=now)


def _runs_again(job: Job, state: AttemptState, telling: Task) -> bool:
    """Where nothing was started, always; else as often as its document allows. Never when it is to be cancelled."""
    if job.state == JobState.CANCELLING:
        return False
    if state == AttemptState.REVOKED:
        return True
    retries = job.spec.get("retries") or {}
    why = AttemptState.LOST if telling.failure_code in AGENTS_OWN else state
    if why not in (AttemptState.LOST, AttemptState.FAILED) or why not in retries.get("on", ["lost"]):
        return False
    ended = job.attempts.filter(state__in=(AttemptState.LOST, AttemptState.FAILED)).count()
    return ended <= int(retries.get("max", 0))


def _end(job: Job, state: AttemptState, telling: Task, *, actor: str, now: datetime) -> None:
    lost = state == AttemptState.LOST and job.state != JobState.CANCELLING
    to = JobState.FAILED if lost else _JOB_AFTER.get(state, JobState.CANCELLED)
    move_job(
        job,
        to,
        frm=job.state,
        actor=actor,
        now=now,
        cause=f"task {telling.pk}",
        exit_code=telling.exit_code,
        failure_code="lost" if lost else telling.failure_code,
        failure_text=LOST_TEXT if lost else telling.failure_text,
    )
