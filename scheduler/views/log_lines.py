"""A log as lines that are safe to look at, however the program wrote them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduler.services.log_frames import Record
from scheduler.views.log_style import PLAIN, Style
from scheduler.views.log_text import Piece, shown


@dataclass(slots=True)
class RawLine:
    """One line as it was written; `number` counts from 1 over both streams in the order of their beginnings."""

    number: int
    at_ms: int
    stream: str
    parts: list[str]
    whole: bool = False
    """Whether the program has ended it."""

    @property
    def text(self) -> str:
        """All of it, without the newline."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Line:
    """One line as the page shows it."""

    number: int
    at_ms: int
    stream: str
    pieces: tuple[Piece, ...]
    whole: bool = True

    @property
    def text(self) -> str:
        """Without its styles."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def clock(self) -> str:
        """When its first piece was written, by the worker's clock, in UTC."""
        return self._at.strftime("%H:%M:%S")

    @property
    def instant(self) -> str:
        """The same with its date and milliseconds, for programs and tooltips."""
        return self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @property
    def is_error(self) -> bool:
        """Whether it was written to stderr."""
        return self.stream == "stderr"

    @property
    def _at(self) -> datetime:
        return datetime.fromtimestamp(min(self.at_ms, _LATEST_MS) / 1000, UTC)


_LATEST_MS = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1000


def raw_lines(records: Iterable[Record], *, first: int = 1) -> list[RawLine]:
    """The lines of a stretch of log, the first of them numbered `first`; each stream's pieces are put together."""
    lines: list[RawLine] = []
    unfinished: dict[str, RawLine] = {}
    for record in records:
        *ended, rest = record.text.split("\n")
        for text in ended:
            line = unfinished.pop(record.stream, None) or _begun(lines, record, first)
            line.parts.append(text)
            line.whole = True
        if rest:
            line = unfinished.get(record.stream) or _begun(lines, record, first)
            line.parts.append(rest)
            unfinished[record.stream] = line
    return lines


def as_shown(lines: Iterable[RawLine]) -> list[Line]:
    """The lines as they are shown; a colour that a stream does not end goes on in its next line."""
    styles: defaultdict[str, Style] = defaultdict(lambda: PLAIN)
    result = []
    for line in lines:
        found = shown(line.text, styles[line.stream])
        styles[line.stream] = found.style
        result.append(Line(line.number, line.at_ms, line.stream, found.pieces, line.whole))
    return result


def _begun(lines: list[RawLine], record: Record, first: int) -> RawLine:
    line = RawLine(first + len(lines), record.at_ms, record.stream, [])
    lines.append(line)
    return line
