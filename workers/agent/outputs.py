"""What a task leaves in its output folder: found without following any link, and brought to the server.

Nothing is remembered of how far that is: the server knows, so that any later agent goes on from there.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workers.agent.folder import TaskRecord
from workers.agent.transport import RefusedError

if TYPE_CHECKING:
    from workers.agent.reporting import Session

log = logging.getLogger(__name__)

PART = 1024 * 1024
MOST_FILES = 10_000
LIMIT_BYTES = 1024**3
"""Where the server names no limit."""
MOST_NOTES = 20
NOTE_LENGTH = 180
LONGEST_PATH = 1000
_ENDED = frozenset({"task_over", "outputs_done", "stale_fence", "no_such_task", "credential_revoked"})
"""The server takes nothing more of this task."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Notes:
    """What is not brought, and why: the first few, and how many more."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._more = 0

    def add(self, path: str, why: str) -> None:
        """One more."""
        line = f"{path}: {why}"
        if len(self._said) < MOST_NOTES:
            shown = "".join(each if each.isprintable() else "?" for each in line)
            self._said.append(shown if len(shown) <= NOTE_LENGTH else f"…{shown[-NOTE_LENGTH:]}")
        else:
            self._more += 1

    def text(self) -> str:
        """All of it, one a line."""
        return "\n".join([*self._said, *([f"{self._more:,} more"] if self._more else [])])


def something_in(folder: str | None) -> str | None:
    """The folder, if there is anything in it."""
    try:
        with os.scandir(folder or "") as entries:
            return folder if next(entries, None) else None
    except OSError:
        return None


def upload(session: Session, record: TaskRecord) -> None:
    """Bring what the task has left, once its end was reported. Raises UnreachableError: a later agent goes on."""
    if not something_in(record.outputs):
        return
    notes, room = Notes(), LIMIT_BYTES if record.outputs_limit_bytes is None else record.outputs_limit_bytes
    try:
        for path, handle, size in files_below(Path(record.outputs or ""), notes):
            if size > room:
                notes.add(path, f"{size:,} bytes, more than is left of what a task may have brought")
            elif _bring(session, record, path, handle, size, notes):
                room -= size
        session.client.outputs_done(record.task, record.fence, notes.text(), retry=session.retry)
    except RefusedError as error:
        if error.code not in _ENDED:
            raise
        log.info("task %s (%s): its outputs are taken no more: %s", record.task, record.job_id, error)


def files_below(folder: Path, notes: Notes) -> Iterator[tuple[str, int, int]]:
    """(path, open handle, size) of every plain file below, sorted; each is closed when the next is asked for."""
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        notes.add(".", f"the folder cannot be read: {error.strerror}")
        return
    owner = os.fstat(top).st_uid
    count = 0
    try:
        for path, name, inside in _names(top, notes):
            handle = _opened(path, name, inside, owner, notes)
            if handle is None:
                continue
            count += 1
            try:
                if count > MOST_FILES:
                    notes.add(path, f"more than {MOST_FILES:,} files")
                else:
                    yield path, handle, os.fstat(handle).st_size
            finally:
                os.close(handle)
    finally:
        os.close(top)


def _names(top: int, notes: Notes) -> Iterator[tuple[str, str, int]]:
    """(path, name, handle of its folder) of everything below that is no folder, folders entered by handle only."""

    def unreadable(error: OSError) -> None:
        notes.add(str(error.filename), f"it cannot be read: {error.strerror}")

    for root, folders, names, inside in os.fwalk(".", dir_fd=top, follow_symlinks=False, onerror=unreadable):
        folders.sort()
        below = root.removeprefix(".").lstrip("/")
        for name in sorted([*names, *(folder for folder in folders if _is_link(folder, inside))]):
            yield (f"{below}/{name}" if below else name), name, inside


def _is_link(name: str, inside: int) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode)
    return False


def _opened(path: str, name: str, inside: int, owner: int, notes: Notes) -> int | None:
    """The file, open; none, with a note, for what is no plain file of the job's or cannot be named."""
    if not _can_be_named(path):
        notes.add(ascii(path)[1:-1], "its name cannot be kept")
        return None
    try:
        handle = os.open(name, _FLAGS, dir_fd=inside)
    except OSError as error:
        notes.add(path, "a link" if error.errno == errno.ELOOP else f"it cannot be read: {error.strerror}")
        return None
    about = os.fstat(handle)
    if stat.S_ISREG(about.st_mode) and (os.geteuid() or about.st_uid == owner):
        return handle
    os.close(handle)
    # With the system's rights an agent could read, and give away, what its job never could.
    notes.add(path, "another user's" if stat.S_ISREG(about.st_mode) else "no file")
    return None


def _can_be_named(path: str) -> bool:
    """Whether the server and a page can say the name: bytes that are no text become halves of characters."""
    return len(path) <= LONGEST_PATH and path.isprintable() and "\\" not in path


def _bring(session: Session, record: TaskRecord, path: str, handle: int, size: int, notes: Notes) -> bool:
    """Send what the server does not have of one file; false, with a note, where it does not take it."""
    offset = 0
    while True:
        part = os.pread(handle, min(PART, size - offset), offset)
        if not part and offset < size:
            notes.add(path, "it became shorter while it was read")
            return False
        try:
            stored = session.client.put_output(
                record.task, record.fence, path, part, offset=offset, size=size, retry=session.retry
            )
        except RefusedError as error:
            if error.code in _ENDED or error.status in (401, 403):
                raise
            true = error.body.get("size")
            if error.status == 416 and isinstance(true, int) and 0 <= true < offset:
                offset = true
                continue
            notes.add(path, error.detail)
            return False
        if stored >= size:
            return True
        if stored <= offset and part:
            notes.add(path, "the server does not take it")
            return False
        offset = stored
