"""Which devices a task is given."""

from __future__ import annotations

from scheduler.core.fleet import TaskLoad, WorkerView
from scheduler.core.matching import free_devices
from scheduler.core.spec import QueueEntry


def pick_devices(entry: QueueEntry, worker: WorkerView) -> tuple[int, ...]:
    """Of the free devices that qualify, all of one kind, the lowest indices; none where no device is asked for."""
    free = sorted(device.index for device in free_devices(entry, worker))
    return tuple(free[: entry.spec.resources.gpus])


def load_of(entry: QueueEntry, devices: tuple[int, ...]) -> TaskLoad:
    """What one task of this job holds of its worker."""
    asked = entry.spec.resources
    return TaskLoad(
        job_id=entry.job_id,
        devices=devices,
        cpu_millicores=asked.cpu_millicores or 0,
        memory_bytes=asked.memory_bytes or 0,
        disk_bytes=asked.disk_bytes or 0,
    )
