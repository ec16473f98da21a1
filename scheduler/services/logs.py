"""A task's log: one append-only file of frames, whose true size is the task's `log_size`.

Bytes are written and synced at the offset first, then the size moves by compare-and-set: a crash in between leaves
bytes beyond the size, which nobody reads and the repeated call overwrites. Names are made here, from numbers alone.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from django.conf import settings

from scheduler.models import Task
from scheduler.services.log_frames import (
    HEADER,
    MAX_CHUNK,
    BrokenFrameError,
    Frame,
    Record,
    as_records,
    decode,
    encode,
    frame_at,
)
from workers.refusals import Refused

journal = logging.getLogger(__name__)

CAP_BYTES = 1024**3
"""No log grows beyond this; the last frame of one that reached it says so."""
NOTICE = f"[gpulayer] this log reached {CAP_BYTES // 1024**3} GiB; what the program wrote after this was not kept\n"
PAGE_BYTES = MAX_CHUNK


class HasLog(Protocol):
    """What reading a log needs to know of its task."""

    pk: int
    log_size: int


@dataclass(frozen=True, slots=True)
class LogPage:
    """Part of a log. `next` is the offset to go on from; `size` what there is so far."""

    records: list[Record]
    next: int
    size: int


def append_log(*, task_id: int, offset: int, body: bytes, now: datetime) -> int:
    """Append whole frames at `offset` and return how much of the agent's bytes is stored.

    The same bytes again change nothing and are answered alike. Refused: `log_malformed` (422), `log_gap` (416, with
    the true `size`), `log_differs` (409), `log_full` (413), `log_disk_full` and `log_unusable` (507).
    """
    _check_frames(body)
    with _kept_by_the_disk(task_id), _opened(task_id, os.O_RDWR | os.O_CREAT) as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        size = Task.objects.values_list("log_size", flat=True).get(pk=task_id)
        full = size >= _threshold()
        fresh = _fresh(log, size=size, offset=offset, body=body)
        if fresh == b"":
            return offset + len(body) if full else size
        if full:
            raise Refused("log_full", f"this log has reached its {CAP_BYTES} bytes", status=413, size=size)
        if fresh is None:
            raise Refused("log_differs", "other bytes are already stored at this offset", status=409, size=size)
        if offset > size:
            raise Refused("log_gap", f"the log has {size} bytes, not {offset}", status=416, size=size)
        if size + len(fresh) >= _threshold():
            fresh += encode(Frame("stderr", int(now.timestamp() * 1000), NOTICE.encode()))
        _write(log, fresh, size)
        if not Task.objects.filter(pk=task_id, log_size=size).update(log_size=size + len(fresh)):
            raise Refused("log_gap", "another call moved this log on; ask for its size", status=416, size=size)
    return offset + len(body)


def read_log(task: HasLog, *, offset: int, page_bytes: int = PAGE_BYTES) -> LogPage:
    """The records from `offset`, which must be the beginning of a frame (0, or an earlier page's `next`)."""
    size = task.log_size
    frames: list[Frame] = []
    if offset > size:
        raise Refused("log_gap", f"the log has {size} bytes so far", status=416, size=size)
    chunk = _read(task.pk, offset, min(page_bytes, size - offset))
    at = 0
    while at < len(chunk):
        try:
            frame = frame_at(chunk, at)
        except BrokenFrameError as error:
            if frames:
                break
            raise Refused("log_gap", f"no frame begins at byte {offset}", status=416, size=size) from error
        frames.append(frame)
        at += HEADER.size + len(frame.data)
    return LogPage(as_records(frames), next=offset + at if chunk else size, size=size)


def read_bytes(task: HasLog, *, offset: int) -> Iterator[bytes]:
    """What the program wrote, both streams in the order of arrival, from the frame that begins at `offset`."""
    while offset < task.log_size:
        page = read_log(task, offset=offset)
        yield "".join(record.text for record in page.records).encode()
        offset = page.next


def _threshold() -> int:
    """From here on nothing more is taken: room is left for one whole chunk and the notice."""
    return CAP_BYTES - 2 * MAX_CHUNK


def _check_frames(body: bytes) -> None:
    if len(body) > MAX_CHUNK:
        raise Refused("log_too_large", f"one call may append {MAX_CHUNK} bytes, this one has {len(body)}", status=413)
    try:
        for _ in decode(body):
            pass
    except BrokenFrameError as error:
        raise Refused("log_malformed", str(error), status=HTTPStatus.UNPROCESSABLE_ENTITY) from error


def _fresh(log: int, *, size: int, offset: int, body: bytes) -> bytes | None:
    """What of `body` the log doesn't have yet; None if what it has there are other bytes."""
    known = max(0, min(size - offset, len(body)))
    if known and os.pread(log, known, offset) != body[:known]:
        return None
    return body[known:]


def _write(log: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(log, data, offset)
        data, offset = data[written:], offset + written
    os.fdatasync(log)


def _read(task_id: int, offset: int, length: int) -> bytes:
    if length <= 0:
        return b""
    try:
        with _opened(task_id, os.O_RDONLY) as log:
            return os.pread(log, length, offset)
    except OSError:
        journal.warning("The log of task %s cannot be read.", task_id, exc_info=True)
        return b""


@contextmanager
def _kept_by_the_disk(task_id: int) -> Iterator[None]:
    """What the disk does not do is told to the agent as 507: it keeps the rest and tries again later."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refused("log_disk_full", "the server's disk for logs is full", status=507) from error
        journal.warning("The log of task %s cannot be written.", task_id, exc_info=True)
        raise Refused("log_unusable", "the server cannot write this log", status=507) from error


@contextmanager
def _opened(task_id: int, flags: int) -> Iterator[int]:
    """The log's file descriptor: a regular file in our own folder, never through a link, a pipe or a device."""
    folder = Path(settings.GPULAYER_DATA) / "logs" / str(task_id // 1000)
    if flags & os.O_CREAT:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        log = os.open(f"{task_id}.log", flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=inside)
    finally:
        os.close(inside)
    try:
        if not stat.S_ISREG(os.fstat(log).st_mode):
            raise OSError(errno.EINVAL, f"the log of task {task_id} is no regular file")
        yield log
    finally:
        os.close(log)
