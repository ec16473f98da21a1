"""What only the scheduler knows of workers: how a pass would see them now, and which tasks they have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
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
    """When its time limit is over, or its hold; None: it has none, has not begun, or it is not told."""
    reruns: bool
    """Whether its job asks to be run again when an attempt of it is lost."""
    has_begun: bool = True
    hidden: bool = False
    """Not for the viewer to know by id, name, owner and limit."""

    @property
    def text(self) -> str:
        """Its id and name."""
        return f"{self.job_id} {self.name}".strip()

    @property
    def free_at(self) -> str:
        """Why there is no instant at which it ends at the latest."""
        return "not told" if self.hidden else "no time limit" if self.has_begun else "not started"


def views_of(names: Sequence[str]) -> Mapping[str, WorkerView]:
    """These workers as a pass would see them now; those that it would not see are left out. Six queries at most."""
    if not names:
        return {}
    fleet = take_fleet(now=timezone.now(), names=list(names)).fleet()
    return {worker.id: worker for worker in fleet.workers}


def tasks_on(worker_id: int) -> tuple[TaskOn, ...]:
    """The tasks that hold something of this worker, the oldest first. One query."""
    return tasks_on_each([worker_id]).get(worker_id, ())


def tasks_on_each(workers: Collection[int]) -> Mapping[int, tuple[TaskOn, ...]]:
    """The same for each of these workers, by key. One query."""
    rows = Task.objects.filter(worker__in=workers, released_at__isnull=True).select_related("attempt__job__owner")
    found: defaultdict[int, list[TaskOn]] = defaultdict(list)
    for task in rows.defer("attempt__job__secrets").order_by("pk"):
        found[task.worker_id].append(_task_on(task))
    return {worker: tuple(tasks) for worker, tasks in found.items()}


def _task_on(task: Task) -> TaskOn:
    job = task.attempt.job
    return TaskOn(
        key=task.pk,
        job_id=job.job_id,
        name=job.name,
        owner=job.owner.get_username(),
        devices=tuple(task.devices),
        since=task.started_at or task.state_since,
        state=task.get_state_display(),
        ends_by=_ends_by(task),
        reruns=_reruns(job.spec),
        has_begun=task.started_at is not None,
    )


def _ends_by(task: Task) -> datetime | None:
    job = task.attempt.job
    if job.hold_until is not None:
        return job.hold_until
    seconds = job.spec.get("timeout_s")
    return task.started_at + timedelta(seconds=seconds) if seconds and task.started_at else None


def _reruns(spec: Mapping[str, Any]) -> bool:
    retries = spec.get("retries") or {}
    return int(retries.get("max", 0)) > 0 and "lost" in retries.get("on", ["lost"])
