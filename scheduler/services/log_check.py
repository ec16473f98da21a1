"""Is a log what its agent says it sent? Its hash is compared as soon as all of it is here."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from scheduler.models import Event, Task
from scheduler.services.stored import kept_by_the_storage
from scheduler.storage import Key, Kind, storage

READ_AT_ONCE = 4 * 1024 * 1024
MISMATCH = "log_mismatch"
SHOWN = 16
"""Hexadecimal digits of a hash that an event names."""


def compare_with_report(task_id: int, *, now: datetime) -> bool | None:
    """Compare the log with the hash in the task's finish report; an event tells of a difference, once.

    None where there is nothing to compare: no report yet, none with a hash, or not all of it is here.
    """
    task = Task.objects.only("log_size", "log_sha256", "log_deleted_at", "report").get(pk=task_id)
    size = reported_size(task)
    if not task.log_sha256 or size is None or task.log_size < size or task.log_deleted_at:
        return None
    found = _sha256(task.pk, size)
    if found == task.log_sha256:
        return True
    _note(task, found, size, now)
    return False


def reported_size(task: Task) -> int | None:
    """How many bytes of the log the agent counted as delivered when it reported the end; None before that."""
    report: dict[str, Any] | None = task.report
    return int(report["log_size"]) if report and report.get("log_size") is not None else None


def differs(task: Task) -> bool:
    """Whether the log was found to be other than what was sent."""
    return Event.objects.filter(subject_kind="task", subject=str(task.pk), verb=MISMATCH).exists()


def _sha256(task_id: int, size: int) -> str:
    digest, offset = hashlib.sha256(), 0
    with kept_by_the_storage("log"):
        while offset < size:
            part = storage().read(Key(Kind.LOGS, task_id), offset=offset, length=min(READ_AT_ONCE, size - offset))
            if not part:
                break
            digest.update(part)
            offset += len(part)
    return digest.hexdigest()


def _note(task: Task, found: str, size: int, now: datetime) -> None:
    if not differs(task):
        Event.objects.create(
            at=now, actor="server", subject_kind="task", subject=str(task.pk), verb=MISMATCH,
            before=task.log_sha256[:SHOWN], after=found[:SHOWN], cause="the stored log is not what was sent",
            detail={"sent": task.log_sha256, "stored": found, "bytes": size},
        )  # fmt: skip
