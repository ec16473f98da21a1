"""Every sentence about what would help, who is in the way and what changed; for page, API and command line alike."""

from __future__ import annotations

from datetime import timedelta

from scheduler.core.blockers import Blockers
from scheduler.core.decision import Outcome
from scheduler.core.difference import Difference
from scheduler.core.labels import code_label
from scheduler.core.levers import Kind, Lever
from scheduler.core.matrix import Cell
from scheduler.core.passed_over import Overtaking, PassedOver
from scheduler.core.quantities import size
from scheduler.core.relax import Relaxations
from scheduler.core.relax_gang import GangVersion
from scheduler.core.relaxed import Change, Relaxation
from scheduler.core.rollup import Cause, RollUp
from scheduler.core.spec import Policy
from scheduler.core.why_this import WhyThis
from scheduler.core.words import Clock, agrees, both, counted, devices, in_utc, names

MOST_PLACES = 3


def change_words(change: Change) -> str:
    """`GPU memory 40 GB → 24 GB`."""
    return f"{change.label} {change.before} → {change.after}"


def relaxation_sentence(edit: Relaxation) -> str:
    """`GPU memory 40 GB → 24 GB: +12 workers, 3 of them free now; starts now`."""
    return f"{both(map(change_words, edit.changes))}: {good_for(edit)}"


def good_for(edit: Relaxation) -> str:
    """`+12 workers, 3 of them free now; starts now`."""
    parts = []
    if edit.gained:
        parts.append(f"+{counted(edit.gained, 'worker')}, {edit.gained_free:,} of them free now")
    if edit.free > edit.gained_free:
        busy = edit.free - edit.gained_free
        parts.append(f"{busy:,} that {agrees(busy, 'fits', 'fit')} already {agrees(busy, 'is', 'are')} free for it")
    if edit.starts:
        parts.append("starts now")
    elif edit.fits:
        parts.append("fits, and waits")
    else:
        parts.append("not yet enough")
    return "; ".join(parts)


def relaxations_lead(found: Relaxations) -> str:
    """What there is to relax, in one sentence."""
    if found.alone and not found.searched:
        return "each line changes one thing, and was counted by deciding the changed job again"
    if found.together:
        together = counted(len(found.together[0].changes), "change")
        return f"no single change is enough; {together} together are the fewest that are"
    if found.searched and not found.complete:
        return "no single change is enough; there are too many combinations to try them all"
    if found.searched:
        return "no single change is enough, and no two or three together"
    return "there is nothing to ask less of"


def gang_sentence(version: GangVersion) -> str:
    """`torch 2.6.0+cu124 in local: 3 of 4 free; 60 fit; waits for 1 more`."""
    torch = f"torch {version.torch}" if version.torch else "torch unknown"
    fit = f"{version.compatible:,} {agrees(version.compatible, 'fits', 'fit')}"
    there = f"{torch} in {version.tier}: {version.free:,} of {version.needed:,} free; {fit}"
    outcome = gang_outcome(version)[1] if version.free < version.needed else ""
    return "; ".join(filter(None, (there, outcome, gang_change(version))))


def gang_outcome(version: GangVersion) -> tuple[str, str]:
    """Tone and words of what becomes of a gang on one torch version: `waits for 1 more`."""
    if version.free >= version.needed:
        return "ok", f"has the {version.needed:,} it needs"
    if version.compatible >= version.needed:
        return "wait", f"waits for {version.needed - version.free:,} more"
    return "never", f"never: only {counted(version.compatible, 'worker')} of this version"


def gang_change(version: GangVersion) -> str:
    """`with this torch on gpu-083 (now 2.6.0+cu126) it would start`; empty where no such change helps."""
    if version.change is None:
        return ""
    those = both(f"{worker} (now {torch or 'none known'})" for worker, torch in version.change.workers[:5])
    more = len(version.change.workers) - 5
    ends = "it would start" if version.change.starts else "it would fit, and wait"
    return f"with this torch on {those}{f' and {more:,} more' if more > 0 else ''} {ends}"


def why_this_lead(why: WhyThis) -> str:
    """How the order is made, and what the other policy would have done."""
    order = {
        Policy.FIRST_FIT: "first_fit: lowest worker id first, compared as text",
        Policy.MOST_FREE_MEMORY: "most_free_memory: most free memory first, then the lowest id; unknown comes last",
    }[why.policy]
    chosen = tuple(ranked.worker for ranked in why.order if ranked.selected)
    if not why.other_choice:
        return order
    if set(why.other_choice) == set(chosen):
        return f"{order}; {why.other_policy} would have taken the same"
    return f"{order}; {why.other_policy} would have taken {names(why.other_choice)}"


def free_memory_words(amount: int | None) -> str:
    """A free memory, or that it is not known."""
    return "" if amount is None else size(amount)


def blockers_sentence(found: Blockers, *, clock: Clock = in_utc) -> str:
    """`earliest known time is 15:10 on gpu-034, when j-853 and j-f40 reach their time limits`."""
    if not found.total:
        return "no worker that could run it is taken"
    if found.earliest is None:
        return "no known time: what stands in the way has no end that is known"
    text = f"earliest known time is {clock(found.earliest)} on {names(found.at)}"
    if found.ending:
        limits = agrees(len(found.ending), "reaches its time limit", "reach their time limits")
        text += f", when {both(found.ending[:5])} {limits}"
    return text if found.complete else f"{text}, of the workers looked at"


def passed_over_sentence(found: PassedOver) -> str:
    """How many went ahead, and whether to reserve."""
    if not found.later:
        return "no later job started on a worker that fits this one"
    jobs = counted(len(found.later), "later job")
    text = f"passed over: {jobs} started on workers that fit this one"
    if found.reserve:
        waited = duration(found.waited)
        text += f"; it has waited {waited}, so reserving workers for it is the thing to do"
    return text


def overtaking_sentence(one: Overtaking) -> str:
    """`j-b9b clip-probe-4 took device 3 on gpu-051`."""
    return f"{one.job_id} {one.name} {taken_words(one)}"


def taken_words(one: Overtaking) -> str:
    """`took device 3 on gpu-051`."""
    taken = (
        f"{devices(held)} on {worker}" if held else f"a place on {worker}" for worker, held in one.places[:MOST_PLACES]
    )
    more = len(one.places) - MOST_PLACES
    return f"took {both(taken)}{f' and {more:,} more' if more > 0 else ''}"


def earlier_sentence(found: PassedOver) -> str:
    """`2 earlier jobs wait for some of the same workers: j-9f0, j-a02`; nothing where there is none."""
    if not found.earlier:
        return ""
    verb = agrees(len(found.earlier), "waits", "wait")
    return f"{counted(len(found.earlier), 'earlier job')} {verb} for some of the same workers: {names(found.earlier)}"


def duration(span: timedelta) -> str:
    """`41 min`, `2 h 5 min`, `3 d 4 h`."""
    minutes = int(span.total_seconds()) // 60
    if minutes < 60:
        return f"{minutes:,} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours:,} h {minutes:,} min"
    return f"{hours // 24:,} d {hours % 24:,} h"


def difference_lead(found: Difference) -> str:
    """`waiting → placed on gpu-007; 9 candidates changed`."""
    if found.is_empty:
        return "nothing changed: same outcome, same places, same reasons for every worker"
    changed = counted(len(found.changed), "candidate")
    before, after = (
        _end(found.outcome_before, found.places_before),
        _end(found.outcome_after, found.places_after),
    )
    return f"{before} → {after}; {changed} changed"


def _end(outcome: Outcome, places: tuple[str, ...]) -> str:
    return f"{outcome} on {names(places)}" if places else str(outcome)


def change_sentences(found: Difference) -> tuple[str, ...]:
    """`gpu-019 came free: j-7d9 released devices 0 and 1`, one for each candidate that changed."""
    return tuple(
        f"{changed.headline}{f': {both(changed.causes)}' if changed.causes else ''}" for changed in found.changed
    )


def cell_words(cell: Cell) -> str:
    """How many fail a check: `12`, `all 12`, `12 (3 ?)` of which 3 are unknown; `✓` all pass, `–` nobody was asked."""
    fails = cell.failed + cell.unknown
    if not fails:
        return "✓" if cell.passed else "–"
    every = "all " if not cell.passed and not cell.not_asked else ""
    return f"{every}{fails:,}{f' ({cell.unknown:,} ?)' if cell.unknown else ''}"


def rollup_lead(found: RollUp) -> str:
    """`12 placed, 3 waiting, 1 never fits`."""
    never = f"{found.never:,} never {agrees(found.never, 'fits', 'fit')}"
    return f"{found.placed:,} placed, {found.waiting:,} waiting, {never}"


def cause_sentence(cause: Cause) -> str:
    """`14 jobs wait: devices in use; the oldest is j-12 (60 fit, none free: devices in use)`."""
    what = ", ".join(code_label(code) for code in cause.codes) or "no workers"
    verb = agrees(cause.jobs, "waits", "wait")
    if cause.outcome is Outcome.UNSCHEDULABLE:
        verb = agrees(cause.jobs, "never fits", "never fit")
    return f"{counted(cause.jobs, 'job')} {verb}: {what}; the oldest is {cause.oldest} ({cause.example})"


def lever_sentence(lever: Lever) -> str:
    """`the end of j-853 on gpu-034 would let 3 jobs start (j-12, j-14, j-20)`."""
    what = {
        Kind.RELEASE: f"the end of {lever.subject} on {names(lever.workers)}",
        Kind.LABEL: f"the label {lever.subject} on {names(lever.workers)}",
        Kind.WORKER: f"one more worker with {lever.subject}, like {names(lever.workers)},",
    }[lever.kind]
    return f"{what} would let {counted(lever.starts, 'job')} start ({names(lever.jobs)})"
