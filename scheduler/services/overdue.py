"""Time limits, for agents that do not keep them: the server's own clock is only the backstop."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from scheduler.models import Event, Task, TaskState
from scheduler.services.machines import move_task
from scheduler.services.outcomes import OVERDUE
from scheduler.services.reports import locked
from scheduler.services.settling import settle
from workers.models import Liveness

ACTOR = "scheduler"


def end_the_overdue(now: datetime) -> None:
    """Have tasks ended that run on beyond their limit, though their agents are there; then end them without these.

    While its host is out of contact nothing is done: the host keeps the limit, and says so when it is back.
    """
    margin = timedelta(seconds=settings.GPULAYER_OVERDUE_SECONDS)
    limited = Task.objects.filter(
        state=TaskState.RUNNING,
        worker__liveness=Liveness.ONLINE,
        attempt__job__spec__has_key="timeout_s",
        started_at__isnull=False,
        released_at=None,
    )
    for task in limited.only("pk", "started_at", "attempt").select_related("attempt__job"):
        seconds = int(task.attempt.job.spec["timeout_s"])
        over = now - (task.started_at or now) - timedelta(seconds=seconds)
        if over > 2 * margin:
            _end(task.pk, seconds, now)
        elif over > margin:
            _order(task.pk, now)


@transaction.atomic
def _order(task_id: int, now: datetime) -> None:
    """From now on its agent is told to stop it."""
    rows = locked(task_id)
    if rows.task.state == TaskState.RUNNING and rows.task.failure_code != OVERDUE:
        Task.objects.filter(pk=task_id).update(failure_code=OVERDUE)
        Event.objects.create(
            at=now, actor=ACTOR, subject_kind="task", subject=str(task_id), verb="overdue",
            cause="it runs longer than its time limit; its agent is told to stop it",
        )  # fmt: skip


@transaction.atomic
def _end(task_id: int, seconds: int, now: datetime) -> None:
    """Its agent does not stop it: it is over for the job, and holds its devices until the agent lets go of them."""
    rows = locked(task_id)
    if rows.task.state == TaskState.RUNNING:
        move_task(
            rows.task, TaskState.TIMED_OUT, frm=TaskState.RUNNING, actor=ACTOR, now=now, cause="its agent did not",
            failure_code=OVERDUE, failure_text=f"it ran longer than its {seconds} seconds; its agent did not end it",
        )  # fmt: skip
        settle(rows, now=now, actor=ACTOR)
