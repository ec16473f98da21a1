"""What tasks leave in their output folders: brought here by their agents after the end, handed out to their owners."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum

from scheduler.core.reading import can_be_stored, is_printable
from scheduler.models import Job, OutputFile, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services.reports import glanced
from scheduler.services.stored import kept_by_the_storage
from scheduler.storage import DiffersError, GapError, Key, Kind, append, storage
from workers.models import Credential
from workers.refusals import NotFound, Refused

MAX_CHUNK = 1024 * 1024
MOST_FILES = 10_000
"""Of one task."""
LONGEST_PATH = 1000
PAGE_BYTES = 4 * 1024 * 1024
_GIVEN_UP = (TaskState.REVOKED, TaskState.LOST)


def put(
    *, credential: Credential, task_id: int, fence: int, path: str, size: int, offset: int, data: bytes, now: datetime
) -> int:
    """Append to one output of a task that is over; return how much of it is stored. The same bytes again are fine.

    Refused: `output_path` (422), `output_too_large` and `outputs_full` (413), `output_gap` (416, with the true
    `size`), `output_differs` (409), `outputs_done` and `task_over` (409), `outputs_disk_full`, `outputs_unusable`
    (507), and what guards every report.
    """
    _check_path(path)
    if len(data) > MAX_CHUNK or offset + len(data) > size:
        most = min(MAX_CHUNK, max(size - offset, 0))
        raise Refused("output_too_large", f"this call may bring {most:,} bytes, it has {len(data):,}", status=413)
    task = glanced(credential=credential, task_id=task_id, fence=fence)
    _check_open(task)
    row = _row(task, path, size, now)
    stored = _append(row, offset, data)
    if stored == row.size and not row.sha256:
        _seal(row)
    return stored


def done(*, credential: Credential, task_id: int, fence: int, note: str) -> int:
    """Everything that will come is here; `note` says what will not, and why. Returns how many bytes that is.

    Again changes nothing. Refused: `task_over`, and what guards every report.
    """
    task = glanced(credential=credential, task_id=task_id, fence=fence)
    if not task.outputs_complete:
        _check_open(task)
        Task.objects.filter(pk=task.pk).update(outputs_complete=True, outputs_note=note)
    return task.outputs.aggregate(stored=Sum("stored"))["stored"] or 0


def of_job(job: Job) -> QuerySet[OutputFile]:
    """Every output of the job that is whole and still here, newest attempt first, by rank and path."""
    rows = OutputFile.objects.filter(task__attempt__job=job, deleted_at=None).exclude(sha256="")
    return rows.select_related("task__attempt", "task__worker").order_by("-task__attempt__number", "task__rank", "path")


def runs_of(job: Job) -> list[Task]:
    """The tasks of the job that have ended with something in their output folder, newest attempt first, by rank."""
    rows = Task.objects.filter(attempt__job=job).exclude(outputs_path="")
    return list(rows.select_related("attempt", "worker").order_by("-attempt__number", "rank"))


def output_of(job: Job, number: int) -> OutputFile:
    """One of them by its number. Raises NotFound."""
    found = of_job(job).filter(pk=number).first()
    if found is None:
        raise NotFound(f"{job.job_id} has no output {number}", code="no_such_output")
    return found


def parts(row: OutputFile, *, offset: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Its bytes from `offset`, to its end where no other is given. Refused: `outputs_unusable` (507)."""
    end = row.size if end is None else end
    for start in range(offset, end, PAGE_BYTES):
        with kept_by_the_storage("outputs"):
            part = storage().read(_key(row), offset=start, length=min(PAGE_BYTES, end - start))
        if not part:
            return
        yield part


def _key(row: OutputFile) -> Key:
    return Key(Kind.OUTPUTS, row.pk)


def _check_path(path: str) -> None:
    """A path below the folder, in parts that mean nothing to any system, and that a page can show."""
    fine = path and len(path) <= LONGEST_PATH and can_be_stored(path) and is_printable(path) and "\\" not in path
    if not fine or any(part in ("", ".", "..") for part in path.split("/")):
        detail = f"an output's path is relative, printable, at most {LONGEST_PATH} characters, without `..`"
        raise Refused("output_path", detail, status=422)


def _check_open(task: Task) -> None:
    if task.state in TASK_UNFINISHED or task.state in _GIVEN_UP:
        raise Refused("task_over", f"task {task.pk} is {task.state}: outputs are taken once it was reported finished")
    if task.outputs_complete:
        raise Refused("outputs_done", f"the outputs of task {task.pk} were said to be complete")


def _row(task: Task, path: str, size: int, now: datetime) -> OutputFile:
    """The row of this output, made if there is room for it."""
    with transaction.atomic():
        Task.objects.select_for_update().get(pk=task.pk)  # of two new files only one may take the last room
        rows = OutputFile.objects.filter(task=task)
        found = rows.filter(path=path).first()
        if found is None:
            _check_room(rows, size)
            found = rows.create(task=task, path=path, size=size, created_at=now)
    if found.size != size or found.deleted_at:
        raise Refused("output_differs", f"`{path}` was begun with {found.size:,} bytes, or has been removed since")
    return found


def _check_room(rows: QuerySet[OutputFile], size: int) -> None:
    limit = settings.GPULAYER_OUTPUTS_LIMIT_BYTES
    used = rows.aggregate(used=Sum("size"))["used"] or 0
    if used + size > limit:
        raise Refused("outputs_full", f"a task's outputs may have {limit:,} bytes in all", status=413)
    if rows.count() >= MOST_FILES:
        raise Refused("outputs_full", f"a task may have {MOST_FILES:,} outputs", status=413)


def _append(row: OutputFile, offset: int, data: bytes) -> int:
    rows = OutputFile.objects.filter(pk=row.pk)

    def counted() -> int:
        return rows.values_list("stored", flat=True).first() or 0

    def moved(frm: int, to: int) -> bool:
        return bool(rows.filter(stored=frm).update(stored=to))

    with kept_by_the_storage("outputs"):
        try:
            return append(storage(), _key(row), data, offset=offset, counted=counted, move=moved)
        except GapError as error:
            detail = f"{error.size} bytes are here, not {offset}"
            raise Refused("output_gap", detail, status=416, size=error.size) from error
        except DiffersError as error:
            raise Refused("output_differs", "other bytes are already stored at this offset", size=error.size) from error


def _seal(row: OutputFile) -> None:
    """All of it is here: keep its hash, by which it counts as whole."""
    digest = hashlib.sha256()
    for part in parts(row):
        digest.update(part)
    OutputFile.objects.filter(pk=row.pk, stored=F("size"), sha256="").update(sha256=digest.hexdigest())
