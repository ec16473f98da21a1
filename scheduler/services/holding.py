"""Drawing fences, and letting go of what tasks hold."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F

from scheduler.models import DeviceHold, FenceCounter, Task
from scheduler.nudge import request_pass


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
