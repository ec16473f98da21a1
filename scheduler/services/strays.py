"""Tasks that were seen on devices which they do not hold: the fence is advice, and who ignores it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler.models import Task
from workers.models import Device, Event

VERB = "stray"
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Stray:
    """A process of a task on the device with this index, which the task does not hold."""

    device: int
    pid: int
    task: int


def record(worker_id: int, strays: Sequence[Stray], *, now: datetime) -> int:
    """One event on the job and one on the worker for each task and device, once; how many pairs were new.

    Tasks of other workers, devices that are not there and devices that the task holds are passed over.
    """
    tasks = {
        task.pk: task
        for task in Task.objects.filter(
            pk__in={each.task for each in strays}, worker=worker_id, released_at=None
        ).select_related("attempt__job", "worker")
    }
    rows = {row.index: row for row in Device.objects.filter(worker=worker_id, present=True)} if tasks else {}
    events: dict[tuple[int, int], tuple[Event, Event]] = {}
    for each in strays:
        task, device = tasks.get(each.task), rows.get(each.device)
        if task is None or device is None or device.index in task.devices or _is_told(task, device):
            continue
        events[task.pk, device.pk] = _events(task, device, each.pid, now)
    Event.objects.bulk_create([event for pair in events.values() for event in pair])
    return len(events)


def strays_of(job_id: str) -> list[Event]:
    """Of this job, each device once, the latest first. One query."""
    return list(Event.objects.filter(subject_kind="job", subject=job_id, verb=VERB).order_by("-id")[:MOST_SHOWN])


def _is_told(task: Task, device: Device) -> bool:
    told = Event.objects.filter(subject_kind="job", subject=task.attempt.job.job_id, verb=VERB)
    return told.filter(detail__task=task.pk, detail__device_row=device.pk).exists()


def _events(task: Task, device: Device, pid: int, now: datetime) -> tuple[Event, Event]:
    job, worker = task.attempt.job, task.worker.name
    cause = f"a process of {job.job_id} uses device {device.index} of {worker}, which it does not hold"
    detail = {"task": task.pk, "rank": task.rank, "pid": pid, "device": device.index, "device_row": device.pk}
    return tuple(  # type: ignore[return-value]
        Event(
            at=now, actor=f"worker:{worker}", subject_kind=kind, subject=subject, verb=VERB,
            after=f"device {device.index}", cause=cause[:200], detail=detail,
        )
        for kind, subject in (("job", job.job_id), ("worker", worker))
    )  # fmt: skip
