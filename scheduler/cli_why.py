"""The whys of a decision on a terminal: order, what to ask less of, checks by group, obstacles, differences."""

from collections.abc import Iterable, Sequence

import click

from gpulayer_site.terminal import clip_list, say, table
from scheduler.core.blockers import Blockers
from scheduler.core.difference import Difference
from scheduler.core.matrix import Cell, Matrix
from scheduler.core.relax import Relaxations
from scheduler.core.relax_gang import GangVersion
from scheduler.core.relaxed import Relaxation
from scheduler.core.rollup import RollUp
from scheduler.core.why import Why
from scheduler.core.why_not import WhyNot
from scheduler.core.why_this import WhyThis
from scheduler.core.why_words import (
    blockers_sentence,
    cause_sentence,
    change_sentences,
    difference_lead,
    free_memory_words,
    gang_sentence,
    lever_sentence,
    relaxation_sentence,
    relaxations_lead,
    rollup_lead,
    why_this_lead,
)
from scheduler.core.words import counted

MOST_LINES = 40


def print_why(why: Why) -> None:
    """Everything but the answer, the funnel and the candidates."""
    _print_order(why.order)
    _print_gang(why.gang)
    _print_blockers(why.blockers)
    _print_relaxations(why.relaxations)
    print_matrix(why.matrix)


def print_matrix(matrix: Matrix) -> None:
    """Each check beside each group: how many fail it; ✓ all pass, – not asked, ? unknown."""
    _title("Every check by group: how many fail it (✓ all pass, – not asked, ? unknown)")
    for number, (label, workers) in enumerate(matrix.columns, 1):
        say(f"{number}: {label} ({counted(workers, 'worker')})", indent=2)
    numbers = [str(number) for number in range(1, len(matrix.columns) + 1)]
    rows: list[Sequence[object]] = [
        (row.label, _cell(row.total), *map(_cell, row.cells), row.only_blocker or "") for row in matrix.rows
    ]
    rows.append(("can run it", sum(matrix.fit), *matrix.fit, ""))
    rows.append(("free now", sum(matrix.free), *matrix.free, ""))
    table(("CHECK", "ALL", *numbers, "ONLY BLOCKER"), rows)


def print_difference(difference: Difference) -> None:
    """What changed from one decision to the other."""
    say(difference_lead(difference))
    for step in difference.steps:
        say(f"{step.label}: {step.before:,} → {step.after:,}", indent=2)
    _some(change_sentences(difference))


def print_roll_up(roll_up: RollUp) -> None:
    """Why a whole queue waits, and what would let most of it start."""
    say(rollup_lead(roll_up))
    for cause in roll_up.causes:
        say(cause_sentence(cause), indent=2)
    if roll_up.levers:
        _title(f"What would let some start, each by itself ({counted(roll_up.asked, 'job')} decided anew)")
        _some(map(lever_sentence, roll_up.levers))


def print_remedies(found: WhyNot) -> None:
    """What would have to give for one worker."""
    if found.on_the_worker:
        _title("What would have to give")
        for remedy in found.on_the_worker:
            say(f"{remedy.code.text}: {remedy.text}", indent=2)
    if found.in_the_job:
        _title("In the job")
        _edits(found.in_the_job)


def _print_order(order: WhyThis) -> None:
    if not order.order:
        return
    _title(why_this_lead(order))
    for ranked in order.order:
        mark = "→" if ranked.selected else " "
        memory = free_memory_words(ranked.free_memory)
        say(f"{mark} {ranked.place}. {ranked.worker}{f'  {memory} free' if memory else ''}  {ranked.why}", indent=2)
    if order.eligible > len(order.order):
        say(f"… and {order.eligible - len(order.order):,} more that could take it", indent=4)


def _print_gang(versions: Iterable[GangVersion]) -> None:
    for number, version in enumerate(versions):
        if not number:
            _title("All workers of a gang share one target and one torch version")
        say(gang_sentence(version), indent=2)
        if version.free_workers:
            say(f"free: {clip_list(version.free_workers)}", indent=4)


def _print_blockers(found: Blockers) -> None:
    if not found.total:
        return
    _title(f"In the way on {counted(found.total, 'worker')}: {blockers_sentence(found)}")
    for blocked in found.workers:
        say(blocked.worker, indent=2)
        for obstacle in blocked.obstacles:
            say(obstacle.text, indent=4)
    if found.total > len(found.workers):
        say(f"… and {found.total - len(found.workers):,} more", indent=2)


def _print_relaxations(found: Relaxations) -> None:
    _title(f"What to ask less of: {relaxations_lead(found)}")
    _edits((*found.alone, *found.together))


def _edits(edits: Iterable[Relaxation]) -> None:
    for edit in edits:
        say(relaxation_sentence(edit), indent=2)
        if edit.examples:
            say(f"such as {clip_list(edit.examples)}", indent=4)


def _title(text: str) -> None:
    click.echo()
    say(text)


def _some(lines: Iterable[str]) -> None:
    told = list(lines)
    for line in told[:MOST_LINES]:
        say(line, indent=2)
    if len(told) > MOST_LINES:
        say(f"… and {len(told) - MOST_LINES:,} more; --json has them all", indent=2)


def _cell(cell: Cell) -> str:
    fails = cell.failed + cell.unknown
    if not fails:
        return "✓" if cell.passed else "–"
    every = "all " if not cell.passed and not cell.not_asked else ""
    return f"{every}{fails:,}{f' ({cell.unknown:,} ?)' if cell.unknown else ''}"
