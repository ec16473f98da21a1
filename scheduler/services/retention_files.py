"""Logs, outputs and bundles that may go. The row first, then the bytes: what a crash leaves behind is swept later."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q, QuerySet, Sum

from scheduler.models import Bundle, OutputFile, Task
from scheduler.models.jobs import JOB_OVER
from scheduler.storage import Found, Key, Kind, StorageError, storage

journal = logging.getLogger(__name__)

BATCH = 200
BUNDLE_DAYS = 30
"""For so long a bundle is kept that no job uses and nobody has uploaded or named."""
STRAY_AFTER = timedelta(days=1)
"""An object that no row knows is left alone for so long: its row may be about to be committed."""


def old_logs(now: datetime) -> Iterator[int]:
    """Remove logs of jobs that are over, oldest first: those past their days, then while all are too large."""
    kept = Task.objects.filter(log_deleted_at=None, log_size__gt=0)
    ended = kept.filter(_OVER, released_at__isnull=False).order_by("finished_at", "pk")
    limit = settings.GPULAYER_KEEP["logs"]
    for task_id in _chosen(kept, ended, "log_size", "finished_at", limit.days, limit.most, now):
        still = Task.objects.filter(_OVER, pk=task_id, log_deleted_at=None)
        yield _gone(still.update(log_deleted_at=now), Key(Kind.LOGS, task_id))


def old_outputs(now: datetime) -> Iterator[int]:
    """Remove output files of jobs that are over, in the same order."""
    kept = OutputFile.objects.filter(deleted_at=None, stored__gt=0)
    over = Q(task__attempt__job__state__in=JOB_OVER)
    ended = kept.filter(over, task__released_at__isnull=False).order_by("task__finished_at", "pk")
    limit = settings.GPULAYER_KEEP["outputs"]
    for file_id in _chosen(kept, ended, "stored", "task__finished_at", limit.days, limit.most, now):
        still = OutputFile.objects.filter(over, pk=file_id, deleted_at=None)
        yield _gone(still.update(deleted_at=now), Key(Kind.OUTPUTS, file_id))


def old_bundles(now: datetime) -> Iterator[int]:
    """Remove bundles that no job uses and that nobody has used for a month."""
    unused = Bundle.objects.filter(jobs__isnull=True, used_at__lt=now - timedelta(days=BUNDLE_DAYS))
    for bundle_id in list(unused.order_by("pk").values_list("pk", flat=True)):
        try:
            with transaction.atomic():
                gone, _ = unused.filter(pk=bundle_id).delete()
        except (ProtectedError, IntegrityError):  # a job has just been given it
            continue
        yield _gone(gone, Key(Kind.BUNDLES, bundle_id))


def strays(now: datetime) -> Iterator[int]:
    """Remove objects that no row knows, or whose row says that they are gone."""
    known = {
        Kind.LOGS: Task.objects.filter(log_deleted_at=None),
        Kind.OUTPUTS: OutputFile.objects.filter(deleted_at=None),
        Kind.BUNDLES: Bundle.objects.all(),
    }
    for kind, rows in known.items():
        found = (each for each in storage().listing(kind) if each.changed_at < now - STRAY_AFTER)
        while batch := list(islice(found, BATCH)):
            yield sum(_gone(1, each.key) for each in _unknown(batch, rows))


_OVER = Q(attempt__job__state__in=JOB_OVER)


def _chosen(
    kept: QuerySet, ended: QuerySet, size: str, at: str, days: int, most: int, now: datetime
) -> Iterator[int]:  # fmt: skip
    """The keys of what may go: past its days, or for the room that is missing."""
    excess = (kept.aggregate(total=Sum(size))["total"] or 0) - most if most else 0
    oldest = now - timedelta(days=days) if days else None
    after: tuple[datetime, int] | None = None
    while batch := list(_following(ended, at, after)[:BATCH].values_list("pk", size, at)):
        for pk, bytes_, finished_at in batch:
            if excess <= 0 and (oldest is None or finished_at >= oldest):
                return
            excess -= bytes_
            yield pk
        after = batch[-1][2], batch[-1][0]


def _following(ended: QuerySet, at: str, after: tuple[datetime, int] | None) -> QuerySet:
    if after is None:
        return ended
    instant, pk = after
    return ended.filter(Q(**{f"{at}__gt": instant}) | Q(**{at: instant}, pk__gt=pk))


def _unknown(batch: list[Found], rows: QuerySet) -> list[Found]:
    known = set(rows.filter(pk__in=[each.key.number for each in batch]).values_list("pk", flat=True))
    return [each for each in batch if each.key.number not in known]


def _gone(rows: int, key: Key) -> int:
    """Delete the object of a row that this call removed; how many were."""
    if not rows:
        return 0
    try:
        storage().delete(key)
    except StorageError as error:  # the sweep finds it again
        journal.warning("%s %s could not be removed: %s", key.kind.value, key.number, error)
    return 1
