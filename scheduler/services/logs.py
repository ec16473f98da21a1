"""A task's log: frames that are only ever appended; its true size is the task's `log_size`.

What is stored is always a prefix of what the agent sent, up to the installation's limit; nothing is put in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.conf import settings

from scheduler.models import Task
from scheduler.services.log_check import compare_with_report
from scheduler.services.log_frames import (
    MAX_CHUNK,
    BrokenFrameError,
    Record,
    as_records,
    decode,
    ends,
    whole,
)
from scheduler.services.stored import kept_by_the_storage
from scheduler.storage import DiffersError, GapError, Key, Kind, append, storage
from workers.refusals import Refused

PAGE_BYTES = MAX_CHUNK


@dataclass(frozen=True, slots=True)
class LogPage:
    """Part of a log, as whole frames. `next` is the offset to go on from; `size` what there is so far."""

    frames: bytes
    next: int
    size: int

    @property
    def records(self) -> list[Record]:
        """The frames as text."""
        return as_records(decode(self.frames))


def append_log(*, task_id: int, offset: int, body: bytes, now: datetime) -> int:
    """Append whole frames at `offset` and return how much of the agent's bytes is stored.

    The same bytes again change nothing and are answered alike. Refused: `log_malformed` (422), `log_gap` (416, with
    the true `size`), `log_differs` (409), `log_full` (413), `log_disk_full` and `log_unusable` (507).
    """
    cuts = _checked(body)
    fits = _fitting(body, cuts, settings.GPULAYER_LOG_LIMIT_BYTES - offset)
    rows = Task.objects.filter(pk=task_id)
    over = False

    def counted() -> int:
        nonlocal over
        size, deleted_at, finished_at = rows.values_list("log_size", "log_deleted_at", "finished_at").get()
        over = finished_at is not None
        if deleted_at:
            raise Refused("log_full", "this log was removed: nothing more is taken", status=413, size=size)
        return int(size)

    def moved(frm: int, to: int) -> bool:
        return bool(rows.filter(log_size=frm, log_deleted_at=None).update(log_size=to))

    with kept_by_the_storage("log"):
        try:
            size = append(storage(), log_key(task_id), fits, offset=offset, counted=counted, move=moved)
        except GapError as error:
            detail = f"the log has {error.size} bytes, not {offset}"
            raise Refused("log_gap", detail, status=416, size=error.size) from error
        except DiffersError as error:
            detail = "other bytes are already stored at this offset"
            raise Refused("log_differs", detail, status=409, size=error.size) from error
    if len(fits) < len(body):
        _cut(task_id, size, anything=bool(fits))
    if over:
        compare_with_report(task_id, now=now)
    return size


def read_log(task: Task, *, offset: int, page_bytes: int = PAGE_BYTES) -> LogPage:
    """The frames from `offset`, which must be the beginning of one (0, or an earlier page's `next`).

    Refused: `log_gap` (416, with the true `size`), `log_unusable` (507).
    """
    size = task.log_size
    if offset > size:
        raise Refused("log_gap", f"the log has {size} bytes so far", status=416, size=size)
    if offset == size or task.log_deleted_at:
        return LogPage(b"", next=size, size=size)
    with kept_by_the_storage("log"):
        chunk = storage().read(log_key(task.pk), offset=offset, length=min(page_bytes, size - offset))
    end = whole(chunk)
    if chunk and not end:
        raise Refused("log_gap", f"no frame begins at byte {offset}", status=416, size=size)
    return LogPage(chunk[:end], next=offset + end if chunk else size, size=size)


def read_bytes(task: Task, *, offset: int = 0, stream: str = "both") -> Iterator[bytes]:
    """What the program wrote, byte for byte, from the frame at `offset`; both streams in the order of arrival."""
    while offset < task.log_size:
        page = read_log(task, offset=offset)
        yield b"".join(frame.data for frame in decode(page.frames) if stream in ("both", frame.stream))
        offset = page.next


def log_key(task_id: int) -> Key:
    """The name of the task's log in the storage."""
    return Key(Kind.LOGS, task_id)


def _checked(body: bytes) -> list[int]:
    """Where the frames of the body end; raises Refused for what is no whole frames."""
    if len(body) > MAX_CHUNK:
        raise Refused("log_too_large", f"one call may append {MAX_CHUNK} bytes, this one has {len(body)}", status=413)
    try:
        return list(ends(body))
    except BrokenFrameError as error:
        raise Refused("log_malformed", str(error), status=HTTPStatus.UNPROCESSABLE_ENTITY) from error


def _fitting(body: bytes, cuts: list[int], room: int) -> bytes:
    """The frames of the body that end within `room` bytes."""
    if len(body) <= room:
        return body
    return body[: max((end for end in cuts if end <= room), default=0)]


def _cut(task_id: int, size: int, *, anything: bool) -> None:
    """Flag a log that has reached its limit; refuse a call of which nothing more was to be kept."""
    Task.objects.filter(pk=task_id, log_cut=False).update(log_cut=True)
    if not anything:
        limit = settings.GPULAYER_LOG_LIMIT_BYTES
        raise Refused("log_full", f"this log has reached its {limit} bytes", status=413, size=size)
