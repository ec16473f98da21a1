"""What the panels about why are made of: lines and cells, worded by the core."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from scheduler.core import explain
from scheduler.core.blockers import Blocked
from scheduler.core.difference import Changed, Difference
from scheduler.core.matrix import Cell, Matrix, Row
from scheduler.core.reasons import Code, Kind
from scheduler.core.relaxed import Relaxation
from scheduler.core.why_not import CheckLine
from scheduler.core.why_words import cell_words, change_words, good_for
from scheduler.core.words import both
from scheduler.views.verdicts import PILLS, segment_of


@dataclass(frozen=True, slots=True)
class Edit:
    """One way to ask for less: what changes, what it is good for, and by what its document is found again."""

    what: str
    good_for: str
    helps: bool
    examples: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class Box:
    """One cell of the table of checks."""

    text: str
    look: str
    """`p` all pass, `na` not asked, `f` some fail, `f full` all fail."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check by group of workers."""

    label: str
    tone: str
    total: Box
    boxes: tuple[Box, ...]
    only_blocker: int
    link: str
    """The candidates that fail it, as a query string."""


@dataclass(frozen=True, slots=True)
class Band:
    """The checks of one kind that somebody fails, and how many workers are left after them."""

    title: str
    tone: str
    icon: str
    rows: tuple[CheckRow, ...]
    left: str
    lefts: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Table:
    """Every check, group by group."""

    grouping: str
    columns: tuple[tuple[str, int], ...]
    workers: int
    bands: tuple[Band, ...]
    passed: str
    """The checks that nobody fails of whom they were asked."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A candidate before and after: pills, reasons in short, and through what it came."""

    worker: str
    sides: tuple[tuple[tuple[str, str] | None, tuple[tuple[str, str], ...]], ...]
    headline: str
    because: str
    selected: bool


def edits(found: Iterable[Relaxation]) -> tuple[Edit, ...]:
    """Lines of edits."""
    return tuple(Edit(_what(one), good_for(one), one.starts, one.examples, key_of(one)) for one in found)


def key_of(edit: Relaxation) -> str:
    """By what an edit of a decision is found again; another decision may have none of this key."""
    return hashlib.sha256(_what(edit).encode()).hexdigest()[:12]


def _what(edit: Relaxation) -> str:
    return both(map(change_words, edit.changes))


def table_of(found: Matrix) -> Table:
    """The matrix as it is shown."""
    passed = [row.label for row in found.rows if row.total.passed and not _fails(row)]
    return Table(
        grouping=found.grouping,
        columns=found.columns,
        workers=sum(workers for _, workers in found.columns),
        bands=(
            _band("Can it ever run it? Capability", Kind.CAPABILITY, found, "Can run it", found.fit),
            _band("Is it free now? Asked of those that can run it", Kind.AVAILABILITY, found, "Free now", found.free),
        ),
        passed=both(passed) if passed else "",
    )


def _band(title: str, kind: Kind, found: Matrix, left: str, lefts: tuple[int, ...]) -> Band:
    rows = tuple(_check_row(row) for row in found.rows if row.code.kind is kind and _fails(row))
    tone, icon = ("never", "ban") if kind is Kind.CAPABILITY else ("wait", "clock")
    return Band(title, tone, icon, rows, left, lefts, sum(lefts))


def _fails(row: Row) -> bool:
    return bool(row.total.failed or row.total.unknown)


def _check_row(row: Row) -> CheckRow:
    return CheckRow(
        label=row.label,
        tone=explain.code_tone(row.code),
        total=_box(row.total),
        boxes=tuple(map(_box, row.cells)),
        only_blocker=row.only_blocker,
        link=urlencode({"code": row.code.text}),
    )


def _box(cell: Cell) -> Box:
    fails = cell.failed + cell.unknown
    if not fails:
        return Box(cell_words(cell), "p" if cell.passed else "na")
    return Box(cell_words(cell), "f" if cell.passed or cell.not_asked else "f full")


def reasons_in_the_way(blocked: Blocked) -> tuple[tuple[str, str], ...]:
    """(tone, sentence) of everything in the way of one worker."""
    return tuple((explain.code_tone(one.code), one.text) for one in blocked.obstacles)


def change_rows(found: Difference) -> tuple[ChangeRow, ...]:
    """The chosen first, then by worker."""
    rows = [_change_row(one) for one in found.changed]
    return tuple(sorted(rows, key=lambda row: not row.selected))


def _change_row(one: Changed) -> ChangeRow:
    sides = ((one.before, one.codes_before), (one.after, one.codes_after))
    return ChangeRow(
        worker=one.worker,
        sides=tuple(
            (PILLS[segment_of(verdict, codes)] if verdict else None, _labels(codes)) for verdict, codes in sides
        ),
        headline=one.headline.removeprefix(one.worker).strip(),
        because="; ".join(one.causes),
        selected=one.after is not None and segment_of(one.after, one.codes_after) == "selected",
    )


def _labels(codes: Iterable[Code]) -> tuple[tuple[str, str], ...]:
    return tuple((explain.code_tone(code), explain.code_label(code)) for code in codes)


def check_lines(lines: Iterable[CheckLine], which: str) -> tuple[tuple[str, str, str, tuple[CheckLine, ...]], ...]:
    """(title, tone, icon, lines) by kind of check; `which` is all, failed or asked."""
    wanted = {"failed": ("failed",), "asked": ("failed", "passed")}.get(which)
    bands = (
        (Kind.CAPABILITY, "Capability: could it ever run it?", "never", "ban"),
        (Kind.AVAILABILITY, "Availability: asked only of workers that can run it", "wait", "clock"),
    )
    shown = [line for line in lines if wanted is None or line.status.value in wanted]
    found = [
        (title, tone, icon, tuple(line for line in shown if line.code.kind is kind))
        for kind, title, tone, icon in bands
    ]
    return tuple(band for band in found if band[3])
