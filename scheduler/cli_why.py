"""The whys of a decision on a terminal: order, what to ask less of, checks by group, obstacles, differences."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import click

from gpulayer_site.terminal import clip_list, say, table
from scheduler.cli_candidates import print_each, print_funnel, print_groups
from scheduler.core.blockers import Blockers
from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.difference import Difference
from scheduler.core.matrix import Matrix
from scheduler.core.passed_over import PassedOver
from scheduler.core.relax import Relaxations
from scheduler.core.relax_gang import GangVersion
from scheduler.core.relaxed import Relaxation
from scheduler.core.rollup import RollUp
from scheduler.core.sentences import group_sentence, note_sentence
from scheduler.core.why import Why
from scheduler.core.why_not import CheckLine, WhyNot
from scheduler.core.why_this import WhyThis
from scheduler.core.why_words import (
    blockers_sentence,
    cause_sentence,
    cell_words,
    change_sentences,
    difference_lead,
    earlier_sentence,
    free_memory_words,
    gang_sentence,
    lever_sentence,
    overtaking_sentence,
    passed_over_sentence,
    relaxation_sentence,
    relaxations_lead,
    rollup_lead,
    why_this_lead,
)
from scheduler.core.words import counted
from scheduler.offline import LARGE_FLEET

MOST_LINES = 40


def print_explained(decision: SchedulingDecision, why: Why) -> None:
    """A decision and everything behind it; candidates in groups where there are many."""
    say(why.answer.lead)
    for text in why.answer.more:
        say(text, indent=2)
    print_funnel([asdict(stage) for stage in why.funnel])
    for reason in decision.group_reasons:
        say(group_sentence(reason), indent=2)
    for note in decision.notes:
        say(f"note: {note_sentence(note)}")
    _print_why(why, waits=decision.outcome is not Outcome.PLACED)
    click.echo()
    if sum(decision.counts().values()) > LARGE_FLEET:
        print_groups(decision, each="--json")
    else:
        print_each(decision)


def _print_why(why: Why, *, waits: bool) -> None:
    _print_order(why.order)
    _print_gang(why.gang)
    if waits:
        _print_blockers(why.blockers)
    if waits and why.passed_over is not None:
        _print_passed_over(why.passed_over)
    _print_relaxations(why.relaxations)
    _print_matrix(why.matrix)


def _print_matrix(matrix: Matrix) -> None:
    """Each check beside each group: how many fail it; ✓ all pass, – not asked, ? unknown."""
    _title("Every check by group: how many fail it (✓ all pass, – not asked, ? unknown)")
    for number, (label, workers) in enumerate(matrix.columns, 1):
        say(f"{number}: {label} ({counted(workers, 'worker')})", indent=2)
    numbers = [str(number) for number in range(1, len(matrix.columns) + 1)]
    rows: list[Sequence[object]] = [
        (row.label, cell_words(row.total), *map(cell_words, row.cells), row.only_blocker or "") for row in matrix.rows
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


def print_why_not(found: WhyNot) -> None:
    """Every check of one job on one worker, and what would have to give."""
    say(f"{found.passed:,} passed, {found.failed:,} failed, {found.not_asked:,} not asked")
    click.echo()
    table(("CHECK", "RESULT", "REQUIRED", "ACTUAL", "DETAIL"), [_check(line) for line in found.checks])
    _print_remedies(found)


def _check(line: CheckLine) -> tuple[str, str, str, str, str]:
    status = str(line.status).replace("_", " ") + (" (unknown)" if line.unknown else "")
    return line.label, status, line.required, line.actual, "; ".join(line.sentences) or line.why_not_asked


def _print_remedies(found: WhyNot) -> None:
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


def _print_passed_over(found: PassedOver) -> None:
    if not found.later and not found.earlier:
        return
    told = passed_over_sentence(found)
    _title(told[:1].upper() + told[1:])
    _some(map(overtaking_sentence, found.later))
    if found.earlier:
        say(earlier_sentence(found), indent=2)


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
