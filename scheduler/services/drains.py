"""Deadlines of drains: what still runs then is stopped, where the operator said so."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from scheduler.models import Event, JobState, Task
from scheduler.models.attempts import DRAINED, TASK_UNFINISHED
from scheduler.services.holding import take_back
from scheduler.services.reports import locked
from scheduler.services.settling import settle
from workers.models import Intent, Liveness, Worker

ACTOR = "scheduler"


def stop_at_deadlines(now: datetime) -> None:
    """Have agents end what still runs on workers that were to be empty by now. Again, it changes nothing.

    What was never let go is taken back at once. The rest ends by its agent's report, like a job that is cancelled; then
    its job goes back to the queue or ends, as its retries say. Out of contact nothing is told to stop: the drain may be
    over when the host is back.
    """
    due = Task.objects.filter(
        released_at=None, state__in=TASK_UNFINISHED, failure_code="", worker__intent=Intent.DRAINING,
        worker__drain_stops=True, worker__drain_deadline__lte=now,
    )  # fmt: skip
    for task_id in due.order_by("pk").values_list("pk", flat=True):
        _stop(task_id, now)


@transaction.atomic
def _stop(task_id: int, now: datetime) -> None:
    rows = locked(task_id)
    if not is_due(rows.worker, now) or rows.task.state not in TASK_UNFINISHED or rows.task.failure_code:
        return
    if rows.job.state == JobState.CANCELLING:
        return
    if take_back([rows.task], rows.attempt, actor=ACTOR, now=now, cause="drained"):
        settle(rows, now=now, actor=ACTOR)
        return
    if rows.worker.liveness != Liveness.ONLINE:
        return
    Task.objects.filter(pk=task_id).update(failure_code=DRAINED)
    Event.objects.create(
        at=now, actor=ACTOR, subject_kind="task", subject=str(task_id), verb="drained",
        cause=f"the deadline of the drain of {rows.worker.name} has come; its agent is told to stop it"[:200],
    )  # fmt: skip


def is_due(worker: Worker, now: datetime) -> bool:
    """Whether what runs there is to be stopped by now."""
    stops = worker.intent == Intent.DRAINING and worker.drain_stops
    return bool(stops and worker.drain_deadline and worker.drain_deadline <= now)
