"""Where the lines of a log lie, found once and kept: a log only grows."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from scheduler.memory import remembered, trim
from scheduler.models import Task
from scheduler.services.log_frames import lines_in
from scheduler.services.logs import PAGE_BYTES, read_log

MOST_LOGS = 256


@dataclass(frozen=True, slots=True)
class Mark:
    """A frame's beginning, and how many lines had ended before it."""

    offset: int
    lines: int


@dataclass(slots=True)
class _Index:
    marks: list[Mark] = field(default_factory=lambda: [Mark(0, 0)])
    lock: Lock = field(default_factory=Lock)


_indexes: OrderedDict[int, _Index] = remembered(OrderedDict())
_lock = Lock()


def marks_of(task: Task) -> list[Mark]:
    """Marks about a page apart, from the beginning up to the last whole page."""
    with _lock:
        index = _indexes.setdefault(task.pk, _Index())
        _indexes.move_to_end(task.pk)
        trim(_indexes, MOST_LOGS)
    with index.lock:  # nobody who looks at another log waits
        while task.log_size - index.marks[-1].offset > PAGE_BYTES:
            last = index.marks[-1]
            page = read_log(task, offset=last.offset, page_bytes=PAGE_BYTES)
            index.marks.append(Mark(page.next, last.lines + lines_in(page.frames)))
        return list(index.marks)
