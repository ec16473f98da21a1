"""Every check against every group of workers: how many pass, fail, are unknown, or were not asked.

Counted by sets, so that ten thousand workers cost little more than ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.core.bits import first, where
from scheduler.core.capability import CAPABILITY
from scheduler.core.census import UNKNOWN
from scheduler.core.checklist import CHECKED, why_not_asked
from scheduler.core.decision import Parts
from scheduler.core.grouping import Column, columns
from scheduler.core.only_blockers import only_blockers
from scheduler.core.questions import READS, environments_of
from scheduler.core.reasons import Code, Kind
from scheduler.core.requirement_words import requirement_label
from scheduler.core.scene import Scene

MOST_OF_A_CODE = 12
"""Up to so many labels or frameworks have a row each; more are one row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one check on some workers; the four sum up to all of them."""

    passed: int
    failed: int
    """Known not to meet it."""
    unknown: int
    """Failed because the fact is unknown: an unknown value never satisfies a requirement."""
    not_asked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One check."""

    code: Code
    subject: str | None
    """A label's key or a framework's name, where each has a row of its own."""
    label: str
    total: Cell
    cells: tuple[Cell, ...]
    """By column."""
    only_blocker: int
    """Workers that would be compatible if this alone were not asked; of what is asked now: that would be free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Checks in the order in which they are asked; those that are asked of nobody are left out."""

    grouping: str
    columns: tuple[tuple[str, int], ...]
    """(name, number of workers) pairs."""
    rows: tuple[Row, ...]
    fit: tuple[int, ...]
    """By column: workers that can run it."""
    free: tuple[int, ...]
    """By column: workers that could take it now."""


def matrix(scene: Scene, *, grouping: str = "gpu", within: int | None = None) -> Matrix:
    """The checks of one job by `gpu`, `tier`, `torch`, `worker` or `label:KEY`; `within`: only a set of workers."""
    workers = scene.census.everyone if within is None else within
    parts = scene.parts()
    shown = columns(scene, grouping, workers)
    rows = [row for code in CHECKED for row in _rows(scene, code, parts, shown, workers)]
    return Matrix(
        grouping=grouping,
        columns=tuple((column.label, column.workers.bit_count()) for column in shown),
        rows=tuple(rows),
        fit=tuple((column.workers & scene.standing.compatible).bit_count() for column in shown),
        free=tuple((column.workers & scene.standing.eligible).bit_count() for column in shown),
    )


def _rows(scene: Scene, code: Code, parts: Parts, shown: tuple[Column, ...], workers: int) -> Iterator[Row]:
    not_asked = 0
    failing = 0
    for (_, codes), bits in parts.items():
        if code in codes:
            failing |= bits
        elif why_not_asked(code, scene.entry, frozenset(codes)):
            not_asked |= bits
    if workers & ~not_asked:
        for subject, fails in _by_subject(scene, code, failing):
            unknown = _unknown(scene, code, subject, fails)
            sets = (fails & ~unknown, unknown, not_asked & ~fails)
            yield Row(
                code=code,
                subject=subject,
                label=requirement_label(code, scene.entry.spec, subject),
                total=_cell(workers, *sets),
                cells=tuple(_cell(column.workers, *sets) for column in shown),
                only_blocker=(only_blockers(scene, code, subject, parts) & workers).bit_count(),
            )


def failing_of(scene: Scene, code: Code, subject: str | None = None) -> int:
    """The workers that a row of the matrix counts as failing."""
    failing = 0
    for (_, codes), bits in scene.parts().items():
        if code in codes:
            failing |= bits
    return dict(_by_subject(scene, code, failing)).get(subject, failing)


def _cell(workers: int, failed: int, unknown: int, not_asked: int) -> Cell:
    counts = [(workers & bits).bit_count() for bits in (failed, unknown, not_asked)]
    return Cell(
        passed=workers.bit_count() - sum(counts), failed=counts[0], unknown=counts[1], not_asked=counts[2]
    )  # fmt: skip


def _by_subject(scene: Scene, code: Code, failing: int) -> Iterator[tuple[str | None, int]]:
    """The workers that fail a check; of labels and frameworks, one by one, unless there are many."""
    wanted = scene.entry.spec.placement.worker_labels
    frameworks = scene.entry.spec.runtime.frameworks
    if code is Code.LABEL and len(wanted) <= MOST_OF_A_CODE:
        for key, value in wanted:
            yield key, scene.census.without_label(key, value)
    elif code is Code.FRAMEWORK and len(frameworks) <= MOST_OF_A_CODE:
        for name, _ in frameworks:
            yield name, _failing_framework(scene, name, failing, unknown_only=False)
    else:
        yield None, failing


def _failing_framework(scene: Scene, name: str, failing: int, *, unknown_only: bool) -> int:
    found = 0
    for bits in scene.census.classes(environments_of).values():
        if bits & failing:
            sample = scene.census.facts[first(bits)]
            reasons = CAPABILITY[Code.FRAMEWORK](scene.entry, sample)
            if any(reason.subject == name and (reason.unknown or not unknown_only) for reason in reasons):
                found |= bits & failing
    return found


def _unknown(scene: Scene, code: Code, subject: str | None, failing: int) -> int:
    """Those among the failing of which the fact is unknown."""
    amounts = {
        Code.CPU_CORES: scene.census.cpu,
        Code.DIST_PROCS: scene.census.cpu,
        Code.MEMORY: scene.census.memory,
        Code.DISK: scene.census.disk,
    }
    if not failing or code.kind is not Kind.CAPABILITY:
        return 0
    if code in amounts:
        return failing & where(map(UNKNOWN.__eq__, amounts[code]))
    if subject is not None and code is Code.FRAMEWORK:
        return _failing_framework(scene, subject, failing, unknown_only=True)
    return _unknown_of_class(scene, code, failing) if code in READS else 0


def _unknown_of_class(scene: Scene, code: Code, failing: int) -> int:
    found = 0
    for bits in scene.census.classes(READS[code]).values():
        if bits & failing:
            sample = scene.census.facts[first(bits)]
            if any(reason.unknown for reason in CAPABILITY[code](scene.entry, sample)):
                found |= bits & failing
    return found
