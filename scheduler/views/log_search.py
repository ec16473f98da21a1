"""Lines of a log that have a text, found page by page; a text, not a pattern, so that no search is ever slow."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.models import Task
from scheduler.services.log_frames import STREAMS, Frame, as_records, decode, lines_in
from scheduler.services.logs import PAGE_BYTES, read_log
from scheduler.views.log_index import marks_of
from scheduler.views.log_lines import Line, RawLine, as_shown, raw_lines
from scheduler.views.log_text import plain

MOST_HITS = 200
MOST_PAGES = 64
"""Pages of a mebibyte that one search looks at; it says where to go on."""
LONGEST_TAIL = PAGE_BYTES
"""An unfinished line is carried into the next page, but not endlessly."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Lines that have the text. `next` is the page to go on from; None: the whole log was searched."""

    lines: list[Line]
    next: int | None


def search(task: Task, text: str, *, stream: str = "both", page: int = 0) -> Hits:
    """The first lines from this page on whose text, as it is shown, has `text`, in capitals or not."""
    marks = marks_of(task)
    if page >= len(marks):
        return Hits([], None)
    wanted, hits = text.lower(), list[Line]()
    tail: list[Frame] = []
    offset, ended = marks[page].offset, marks[page].lines
    last = min(page + MOST_PAGES, len(marks))
    for place in range(page, last):
        found = read_log(task, offset=offset, page_bytes=PAGE_BYTES)
        frames = [*tail, *decode(found.frames)]
        if _may_have(frames, wanted):
            lines = raw_lines(as_records(frames), first=ended + 1)
            done = lines if found.next >= task.log_size else [line for line in lines if line.whole]
            hits += _matching(done, wanted, stream)
        tail, offset, ended = _unfinished(frames), found.next, ended + lines_in(found.frames)
        if len(hits) >= MOST_HITS:
            last = place + 1
            break
    return Hits(hits[:MOST_HITS], last if last < len(marks) else None)


def _may_have(frames: list[Frame], wanted: str) -> bool:
    """Whether it pays to make lines of these bytes. What is not ASCII is looked for in the lines themselves."""
    if not wanted.isascii():
        return True
    needle = wanted.encode()
    return any(
        needle in b"".join(frame.data for frame in frames if frame.stream == stream).lower()
        for stream in STREAMS.values()
    )


def _matching(lines: list[RawLine], wanted: str, stream: str) -> list[Line]:
    mine = (line for line in lines if stream in ("both", line.stream))
    return as_shown([line for line in mine if wanted in plain(line.text).lower()][:MOST_HITS])


def _unfinished(frames: list[Frame]) -> list[Frame]:
    """What each stream has written since its last newline."""
    tails: list[Frame] = []
    for stream in STREAMS.values():
        data: list[Frame] = []
        size = 0
        for frame in reversed(frames):
            if frame.stream != stream:
                continue
            cut = frame.data.rfind(b"\n") + 1
            data.append(Frame(stream, frame.at_ms, frame.data[cut:]))
            size += len(frame.data) - cut
            if cut or size > LONGEST_TAIL:
                break
        tails += reversed(data)
    return tails
