"""A log as lines that are safe to look at, however the program wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduler.services.log_frames import Record

LONGEST_LINE = 4_000
"""Characters of one line on the page; the download has them all."""

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC and other strings: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
# Left alone: tab. Shown as pictures: the other control characters. Neutralised: what turns the direction of text.
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if code != 0x09} | {0x7F: "\u2421"}
_HIDDEN = dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F], "\ufffd")
_NEUTRAL = _PICTURES | _HIDDEN


@dataclass(slots=True)
class Line:
    """One line; `number` counts from 1 over both streams in the order of their beginnings."""

    number: int
    at_ms: int
    stream: str
    text: str
    whole: bool = True
    """False while the program has not ended it."""

    @property
    def clock(self) -> str:
        """When its first piece was written, by the worker's clock, in UTC."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%H:%M:%S")

    @property
    def is_error(self) -> bool:
        """Whether it was written to stderr."""
        return self.stream == "stderr"


def lines_of(records: Iterable[Record], *, first: int = 1) -> list[Line]:
    """The lines of a stretch of log, the first of them numbered `first`; each stream's pieces are put together."""
    lines: list[Line] = []
    unfinished: dict[str, Line] = {}
    for record in records:
        for piece in _pieces(record.text):
            line = unfinished.pop(record.stream, None)
            if line is None:
                line = Line(first + len(lines), record.at_ms, record.stream, "")
                lines.append(line)
            line.text += piece.removesuffix("\n")
            line.whole = piece.endswith("\n")
            if not line.whole:
                unfinished[record.stream] = line
    for line in lines:
        line.text = readable(line.text)
    return lines


def readable(raw: str) -> str:
    """One line as a terminal would leave it: the last state of a progress bar, no colours, no tricks."""
    text = _ESCAPE.sub("", raw)
    states = [state for state in text.split("\r") if state]
    text = states[-1] if states else ""
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]} … {len(text) - LONGEST_LINE:,} more characters in the download"
    return text.translate(_NEUTRAL)


def _pieces(text: str) -> list[str]:
    """Split after each newline, and only there: form feeds and the like end no line of a log."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
