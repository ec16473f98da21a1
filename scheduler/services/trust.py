"""Is it the job or the worker? One on which different jobs fail at once, one after the other, would eat the queue."""

from __future__ import annotations

from datetime import datetime, timedelta

from scheduler.models import Task, TaskState
from scheduler.models.attempts import ORDERLY
from workers import services
from workers.models import Worker

QUICK = timedelta(seconds=60)
"""A failure this soon after the start says something about the worker."""
TOO_MANY = 3
LOOK_BACK = 50
"""Ends of tasks that are looked at, the latest first."""


def distrust(worker: Worker, *, now: datetime) -> None:
    """Take the worker out if the last different jobs there failed within a minute, with no success between.

    Simulated workers fail as they are told to; nothing is wrong with them.
    """
    if worker.simulated:
        return
    failed = _failed_in_a_row(worker)
    if len(failed) >= TOO_MANY:
        services.note_failures(worker.pk, failed, actor="scheduler", now=now)


def _failed_in_a_row(worker: Worker) -> list[str]:
    over = Task.objects.filter(worker=worker, state__in=(TaskState.SUCCEEDED, TaskState.FAILED))
    over = over.exclude(failure_code__in=ORDERLY)
    if worker.trusted_since:
        over = over.filter(finished_at__gt=worker.trusted_since)
    ends = over.order_by("-finished_at", "-pk").values_list(
        "state", "started_at", "finished_at", "attempt__job__job_id"
    )
    jobs: list[str] = []
    for state, started_at, finished_at, job_id in ends[:LOOK_BACK]:
        if state == TaskState.SUCCEEDED:
            break
        quick = started_at is None or finished_at is None or finished_at - started_at < QUICK
        if quick and job_id not in jobs:
            jobs.append(job_id)
    return jobs
