"""Every check as a table: counted by groups of workers, or of a few workers with what each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.core import explain
from scheduler.core.checklist import Status
from scheduler.core.decision import Verdict
from scheduler.core.matrix import Cell, Matrix, Row
from scheduler.core.reasons import Code, Kind
from scheduler.core.requirement_words import requirement_label
from scheduler.core.spec import JobSpec
from scheduler.core.why_not import CheckLine, WhyNot
from scheduler.core.why_words import cell_words
from scheduler.core.words import both, counted
from scheduler.views.candidate_query import ONLY, Query

CAPABILITY = ("Can it ever run it? Capability", "never", "ban", "Can run it")
AVAILABILITY = ("Is it free now? Availability, asked only of those that can run it", "wait", "clock", "Free now")
BANDS = ((Kind.CAPABILITY, *CAPABILITY), (Kind.AVAILABILITY, *AVAILABILITY))


@dataclass(frozen=True, slots=True)
class Box:
    """One cell."""

    text: str
    look: str = ""
    """`p` passes, `na` not asked, `f` some fail, `f full` all fail."""
    link: str = ""
    """The candidates that it counts, as a query string; or the code whose check on this worker it shows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A group of workers and their number, or one worker and its GPUs."""

    name: str
    below: str
    link: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check."""

    label: str
    tone: str
    boxes: tuple[tuple[Column, Box], ...]
    only: Box | None = None
    """The workers that it alone keeps from the job; None in a table of single workers."""


@dataclass(frozen=True, slots=True)
class Band:
    """The checks of one kind, and who is left after them."""

    title: str
    tone: str
    icon: str
    rows: tuple[CheckRow, ...]
    left: str
    lefts: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Every check that somebody fails; `by_worker`: with every check that was asked."""

    grouping: str
    columns: tuple[Column, ...]
    bands: tuple[Band, ...]
    passed: str
    """The checks that nobody fails of whom they were asked."""
    by_worker: bool = False

    @property
    def span(self) -> int:
        """How many cells a row has."""
        return len(self.columns) + (1 if self.by_worker else 2)


def by_group(found: Matrix, *, everywhere: bool) -> Table:
    """The matrix; every number leads to its candidates. `everywhere`: it counts workers outside the targets too."""
    query = Query(verdict="all" if everywhere else "in")
    groups = [("", sum(number for _, number in found.columns)), *found.columns]
    columns = tuple(Column(name or "All", f"{number:,}", _of(query, found, name).link()) for name, number in groups)
    passed = [row.label for row in found.rows if row.total.passed and not _fails(row)]
    return Table(
        grouping=found.grouping,
        columns=columns,
        bands=tuple(_band(kind, band, found, columns, query) for kind, *band in BANDS),
        passed=both(passed) if passed else "",
    )


def _of(query: Query, found: Matrix, name: str) -> Query:
    return query.but(by=found.grouping, group=name) if name else query


def _band(kind: Kind, band: Sequence[str], found: Matrix, columns: Sequence[Column], query: Query) -> Band:
    title, tone, icon, left = band
    rows = tuple(_row(row, found, columns, query) for row in found.rows if row.code.kind is kind and _fails(row))
    counts, verdict = (found.fit, "fits") if kind is Kind.CAPABILITY else (found.free, "now")
    able = query.but(verdict=verdict)
    each = zip(counts, (name for name, _ in found.columns), strict=True)
    lefts = (_left(sum(counts), able), *(_left(number, _of(able, found, name)) for number, name in each))
    return Band(title, tone, icon, rows, left, lefts)


def _left(number: int, query: Query) -> Box:
    return Box(f"{number:,}", link=query.link() if number else "")


def _fails(row: Row) -> bool:
    return bool(row.total.failed or row.total.unknown)


def _row(row: Row, found: Matrix, columns: Sequence[Column], query: Query) -> CheckRow:
    asked = query.but(code=row.code.text, subject=row.subject or "")
    names = ["", *(name for name, _ in found.columns)]
    cells = zip((row.total, *row.cells), names, strict=True)
    boxes = (_box(cell, _of(asked, found, name)) for cell, name in cells)
    return CheckRow(
        label=_label(row.code, row.label),
        tone=explain.code_tone(row.code),
        boxes=tuple(zip(columns, boxes, strict=True)),
        only=Box(
            f"{row.only_blocker:,}" if row.only_blocker else "–",
            link=asked.but(counts=ONLY).link() if row.only_blocker else "",
        ),
    )


def _label(code: Code, label: str) -> str:
    """Begins a row; names of packages keep their case."""
    return label if code in (Code.FRAMEWORK, Code.DIST_TORCH) else label[:1].upper() + label[1:]


def _box(cell: Cell, query: Query) -> Box:
    fails = cell.failed + cell.unknown
    if not fails:
        return Box(cell_words(cell), "p" if cell.passed else "na")
    return Box(cell_words(cell), "f" if cell.passed or cell.not_asked else "f full", query.link())


def by_worker(spec: JobSpec, found: Sequence[tuple[WhyNot, str]]) -> Table:
    """Each worker with what it has of everything that was asked of one of them; beside it, its GPUs in words."""
    columns = tuple(Column(one.worker, gpus, "") for one, gpus in found)
    rows = [
        (lines[0].code, _worker_row(spec, columns, lines))
        for lines in zip(*(one.checks for one, _ in found), strict=True)
        if any(line.status is not Status.NOT_ASKED for line in lines)
    ]
    bands = tuple(
        Band(title, tone, icon, tuple(row for code, row in rows if code.kind is kind), left,
             tuple(_able(kind, one) for one, _ in found))
        for kind, title, tone, icon, left in BANDS
    )  # fmt: skip
    return Table("worker", columns, bands, passed="", by_worker=True)


def _worker_row(spec: JobSpec, columns: Sequence[Column], lines: Sequence[CheckLine]) -> CheckRow:
    code = lines[0].code
    boxes = tuple(zip(columns, map(_actual, lines), strict=True))
    return CheckRow(_label(code, requirement_label(code, spec)), explain.code_tone(code), boxes)


def _actual(line: CheckLine) -> Box:
    if line.status is Status.NOT_ASKED:
        return Box("–", "na")
    if line.status is Status.PASSED:
        return Box(f"✓ {line.actual}".strip(), "p", line.code.text)
    return Box("? unknown" if line.unknown else f"✗ {line.actual}".strip(), "f", line.code.text)


def _able(kind: Kind, one: WhyNot) -> Box:
    """Yes, or no and for how many reasons."""
    never = one.verdict is Verdict.INCOMPATIBLE
    if kind is Kind.AVAILABILITY and never:
        return Box("–")
    failed = never or (kind is Kind.AVAILABILITY and one.verdict is Verdict.UNAVAILABLE)
    return Box(f"no: {counted(one.failed, 'reason')}" if failed else "yes")
