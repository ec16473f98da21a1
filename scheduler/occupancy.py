"""What only the scheduler knows of workers: how a pass would see them now, and which tasks they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from scheduler.core.fleet import WorkerView
from scheduler.models import Task
from scheduler.snapshot import take_fleet


@dataclass(frozen=True, slots=True)
class TaskOn:
    """One task that holds something of a worker. `key`: by which agents name it."""

    key: int
    job_id: str
    name: str
    owner: str
    devices: tuple[int, ...]
    since: datetime
    state: str
    ends_by: datetime | None
    """When its time limit is over; None: it has none, or has not begun."""
    reruns: bool
    """Whether its job asks to be run again when an attempt of it is lost."""


def views_of(names: Sequence[str]) -> Mapping[str, WorkerView]:
    """These workers as a pass would see them now; those that it would not see are left out. Six queries at most."""
    if not names:
        return {}
    fleet = take_fleet(now=timezone.now(), names=list(names)).fleet()
    return {worker.id: worker for worker in fleet.workers}


def tasks_on(worker_id: int) -> tuple[TaskOn, ...]:
    """The tasks that hold something of this worker, the oldest first. One query."""
    rows = Task.objects.filter(worker=worker_id, released_at__isnull=True).select_related("attempt__job__owner")
    return tuple(
        TaskOn(
            key=task.pk,
            job_id=task.attempt.job.job_id,
            name=task.attempt.job.name,
            owner=task.attempt.job.owner.get_username(),
            devices=tuple(task.devices),
            since=task.started_at or task.state_since,
            state=task.get_state_display(),
            ends_by=_ends_by(task),
            reruns=_reruns(task.attempt.job.spec),
        )
        for task in rows.order_by("pk")
    )


def _ends_by(task: Task) -> datetime | None:
    seconds = task.attempt.job.spec.get("timeout_s")
    return task.started_at + timedelta(seconds=seconds) if seconds and task.started_at else None


def _reruns(spec: Mapping[str, Any]) -> bool:
    retries = spec.get("retries") or {}
    return int(retries.get("max", 0)) > 0 and "lost" in retries.get("on", ["lost"])
