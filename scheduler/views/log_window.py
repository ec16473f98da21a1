"""The newest lines of a log of any size, without reading all of it at every look."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from scheduler.memory import remembered
from scheduler.models import Task
from scheduler.services.log_frames import Record
from scheduler.services.logs import PAGE_BYTES, read_log
from scheduler.views.log_lines import Line, lines_of

MOST_LINES = 1_000
MOST_BYTES = 4 * PAGE_BYTES
"""Read for one look, however few lines that makes: a progress bar can be one line of a gigabyte."""
MOST_LOGS = 256


@dataclass(frozen=True, slots=True)
class Mark:
    """A frame's beginning, and how many lines had ended before it."""

    offset: int
    lines: int


@dataclass(slots=True)
class _Index:
    marks: list[Mark] = field(default_factory=lambda: [Mark(0, 0)])


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of lines of a log; `before` is the number to ask for to see earlier ones, None at the beginning."""

    lines: list[Line]
    before: int | None
    size: int


_indexes: OrderedDict[int, _Index] = remembered(OrderedDict())
_lock = Lock()


def window(task: Task, *, before: int | None = None) -> Window:
    """The newest 1,000 lines, or the 1,000 before the line numbered `before`."""
    start = _start(_marks(task), before)
    lines = _lines_from(task, start, before)[-MOST_LINES:]
    first = lines[0].number if lines else 1
    return Window(lines, first if first > 1 else None, task.log_size)


def _marks(task: Task) -> list[Mark]:
    """Marks a page apart, up to the last whole page; kept between calls, since a log only grows."""
    with _lock:
        index = _indexes.setdefault(task.pk, _Index())
        _indexes.move_to_end(task.pk)
        while len(_indexes) > MOST_LOGS:
            _indexes.popitem(last=False)
        while task.log_size - index.marks[-1].offset > PAGE_BYTES:
            last = index.marks[-1]
            page = read_log(task, offset=last.offset, page_bytes=PAGE_BYTES)
            ended = sum(record.text.count("\n") for record in page.records)
            index.marks.append(Mark(page.next, last.lines + ended))
        return list(index.marks)


def _start(marks: list[Mark], before: int | None) -> Mark:
    """The latest mark with enough lines after it, but not so early that too much would be read."""
    place = len(marks) - 1
    while before is not None and place and marks[place].lines >= before:
        place -= 1
    end = marks[place]
    wanted = (end.lines if before is None else before) - MOST_LINES
    while place and marks[place].lines > wanted and end.offset - marks[place - 1].offset < MOST_BYTES:
        place -= 1
    return marks[place]


def _lines_from(task: Task, start: Mark, before: int | None) -> list[Line]:
    records: list[Record] = []
    offset, ended = start.offset, start.lines
    while offset < task.log_size and (before is None or ended < before):
        page = read_log(task, offset=offset, page_bytes=PAGE_BYTES)
        records += page.records
        offset = page.next
        ended += sum(record.text.count("\n") for record in page.records)
    lines = lines_of(records, first=start.lines + 1)
    return lines if before is None else [line for line in lines if line.number < before]
