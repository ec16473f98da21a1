"""Drawing fences, and letting go of what tasks hold."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F

from scheduler.models import Attempt, DeviceHold, FenceCounter, Task, TaskState
from scheduler.nudge import request_pass
from scheduler.services.machines import move_task


def draw_fences(count: int) -> range:
    """The next `count` fences, never drawn before. Call it in the transaction that uses them."""
    if not FenceCounter.objects.filter(pk=1).update(value=F("value") + count):
        FenceCounter.objects.bulk_create([FenceCounter(pk=1, value=0)], ignore_conflicts=True)
        FenceCounter.objects.filter(pk=1).update(value=F("value") + count)
    last = FenceCounter.objects.values_list("value", flat=True).get(pk=1)
    return range(last - count + 1, last + 1)


def release(tasks: Iterable[Task], *, now: datetime) -> int:
    """Free the devices and everything else these finished tasks hold; return how many still held something."""
    ids = [task.pk for task in tasks]
    with transaction.atomic():
        released = Task.objects.filter(pk__in=ids, released_at=None).update(released_at=now)
        DeviceHold.objects.filter(task__in=ids, released_at=None).update(released_at=now)
        if released:
            request_pass()
    return released


def was_let_go(task: Task, attempt: Attempt) -> bool:
    """Whether its agent may have started it: it was claimed, and so were all of its gang."""
    if task.state == TaskState.ASSIGNED:
        return False
    return attempt.go_at is not None or task.started_at is not None


def take_back(
    tasks: Iterable[Task], attempt: Attempt, *, actor: str, now: datetime, cause: str, code: str = "", text: str = ""
) -> list[Task]:
    """Revoke the unfinished tasks that were never let go, and free at once what they hold: nothing of them runs.

    Call it with the attempt locked. Returns those that it revoked; `code` and `text` are kept with them.
    """
    unstarted = (TaskState.ASSIGNED, TaskState.CLAIMED, TaskState.UNKNOWN)
    revoked = [
        task
        for task in tasks
        if task.state in unstarted
        and not was_let_go(task, attempt)
        and move_task(
            task, TaskState.REVOKED, frm=task.state, actor=actor, now=now, cause=cause,
            failure_code=code, failure_text=text,
        )
    ]  # fmt: skip
    release(revoked, now=now)
    return revoked
