"""A thousand lines of a log of any size, without reading all of it at every look."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.models import Task
from scheduler.services.log_frames import Frame, as_records, decode, lines_in
from scheduler.services.logs import PAGE_BYTES, read_log
from scheduler.views.log_index import Mark, marks_of
from scheduler.views.log_lines import Line, RawLine, as_shown, raw_lines

MOST_LINES = 1_000
MOST_BYTES = 4 * PAGE_BYTES
"""Read for one look, however few lines that makes: a progress bar can be one line of a gigabyte."""
MOST_TEXT = 512 * 1024
"""Characters of one look before they are made safe: lines that are all very long are fewer."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of lines of a log. `before` and `after`: what to ask for as `before`, for earlier and later ones."""

    lines: list[Line]
    before: int | None
    after: int | None
    size: int


def window(task: Task, *, before: int | None = None, stream: str = "both", most: int = MOST_LINES) -> Window:
    """The newest lines of a stream, or those before the line numbered `before`: at most `most`.

    A line keeps its number whichever stream is looked at.
    """
    lines, ended = _lines_from(task, _start(marks_of(task), before), before)
    chosen = _chosen([line for line in lines if stream in ("both", line.stream)], most)
    first = (chosen or lines)[0].number if lines else 1
    after = chosen[-1].number + 1 + MOST_LINES if chosen and not ended else None
    return Window(as_shown(chosen), first if first > 1 else None, after, task.log_size)


def _chosen(lines: list[RawLine], most: int) -> list[RawLine]:
    """The last of these lines that are not too much to show; one at least."""
    room = MOST_TEXT
    chosen: list[RawLine] = []
    for line in reversed(lines[-most:]):
        room -= min(sum(map(len, line.parts)), MOST_TEXT // 8)
        if room < 0 and chosen:
            break
        chosen.append(line)
    return chosen[::-1]


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


def _lines_from(task: Task, start: Mark, before: int | None) -> tuple[list[RawLine], bool]:
    """Lines from a mark up to the line `before`, and whether these reach to the end of the log."""
    frames: list[Frame] = []
    offset, ended = start.offset, start.lines
    while offset < task.log_size and (before is None or (ended < before and offset - start.offset < 2 * MOST_BYTES)):
        page = read_log(task, offset=offset, page_bytes=PAGE_BYTES)
        frames += decode(page.frames)
        offset = page.next
        ended += lines_in(page.frames)
    lines = raw_lines(as_records(frames), first=start.lines + 1)
    if before is None:
        return lines, True
    kept = [line for line in lines if line.number < before]
    return kept, offset >= task.log_size and len(kept) == len(lines)
