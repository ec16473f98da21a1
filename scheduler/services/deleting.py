"""Deleting a job that is over, with its logs, outputs and decisions. Its events stay."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction

from scheduler.models import DeviceHold, Event, Job, OutputFile, Task
from scheduler.storage import Key, Kind, StorageError, storage
from workers.refusals import Refused

journal = logging.getLogger(__name__)


def delete_job(*, job: Job, actor: str, now: datetime) -> None:
    """Delete a job and everything that only it needs. One that is gone already stays so.

    Refused: `job_not_over`; `devices_held` while a worker has not said that its processes are gone.
    """
    with transaction.atomic():
        row = Job.objects.select_for_update().filter(pk=job.pk).first()
        if row is None:
            return
        _check(row)
        keys = _keys(row)
        Event.objects.create(
            at=now, actor=actor, subject_kind="job", subject=row.job_id, verb="deleted", before=row.state,
            detail={"name": row.name, "owner": row.owner.get_username()},
        )  # fmt: skip
        row.delete()
        transaction.on_commit(lambda: _remove(keys))


def _check(job: Job) -> None:
    if not job.is_over:
        raise Refused("job_not_over", f"{job.job_id} is {job.state}: cancel it first, then delete it")
    held = Task.objects.filter(attempt__job=job, released_at=None).select_related("worker").order_by("rank")
    if held or DeviceHold.objects.filter(task__attempt__job=job, released_at=None).exists():
        names = ", ".join(sorted({task.worker.name for task in held})) or "a worker"
        raise Refused("devices_held", f"{job.job_id} still holds something on {names}: its processes may not be gone")


def _keys(job: Job) -> list[Key]:
    tasks = Task.objects.filter(attempt__job=job, log_size__gt=0).values_list("pk", flat=True)
    files = OutputFile.objects.filter(task__attempt__job=job).values_list("pk", flat=True)
    return [*(Key(Kind.LOGS, pk) for pk in tasks), *(Key(Kind.OUTPUTS, pk) for pk in files)]


def _remove(keys: list[Key]) -> None:
    """Remove the bytes; what stays behind after an error here is swept by retention."""
    for key in keys:
        try:
            storage().delete(key)
        except StorageError as error:
            journal.warning("%s %s could not be removed: %s", key.kind.value, key.number, error)
