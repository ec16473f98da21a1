"""Every word about a decision, for page, API and command line alike: pure functions of the job and its decision."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.answers import Said, capital, open_groups, place_of, what_it_waits_for, why_there
from scheduler.core.answers_never import why_never
from scheduler.core.decision import Outcome, SchedulingDecision, TierStatus, Verdict
from scheduler.core.funnel import FunnelStage, Loss, funnel
from scheduler.core.labels import code_label, code_tone
from scheduler.core.quantities import cores, size, sizes
from scheduler.core.reasons import Code
from scheduler.core.sentences import group_sentence, note_sentence, sentence
from scheduler.core.spec import OnUnschedulable, QueueEntry
from scheduler.core.wants import asks_for
from scheduler.core.words import Clock, agrees, in_utc

__all__ = [
    "Answer", "FunnelStage", "Loss", "answer", "asks_for", "code_label", "code_tone", "cores", "funnel",
    "group_sentence", "note_sentence", "only_tier_words", "sentence", "short_answer", "size", "sizes", "tier_sentences",
    "tier_words",
]  # fmt: skip

_PLACED = {
    "queued": "Starts on", "assigned": "Starts on", "running": "Runs on", "cancelling": "Being cancelled on",
    "succeeded": "Succeeded on", "failed": "Failed on", "cancelled": "Cancelled on", "timed_out": "Timed out on",
}  # fmt: skip
_RESERVED = frozenset((Code.RESERVED_UNTIL, Code.RESERVED_FROM))
_STILL_THERE = ("queued", "assigned", "running", "cancelling")


@dataclass(frozen=True, slots=True)
class Answer:
    """One sentence on where a job stands, and the sentences that go on from it."""

    state: str
    """`placed`, `waiting`, `reserved` or `never` of a queued job, `unschedulable`, else the job's own state."""
    lead: str
    more: tuple[str, ...] = ()


def answer(
    entry: QueueEntry,
    decision: SchedulingDecision,
    *,
    state: str = "queued",
    exit_code: int | None = None,
    clock: Clock = in_utc,
    closely: bool = True,
) -> Answer:
    """Why a job runs where it runs, or why it waits or never fits; `state` is the job's own.

    `closely` looks at single workers to name the closest, which a pass over a large fleet can do without.
    """
    if decision.outcome is Outcome.PLACED:
        return _placed(entry, decision, state, exit_code)
    said = _unplaced(entry, decision, clock, closely)
    if state == "cancelled":
        return Answer(state, "Cancelled before it was placed.", (f"When it was last considered: {said.lead}.",))
    if decision.outcome is Outcome.WAITING:
        kind = "reserved" if _all_reserved(decision) else "waiting"
        return Answer(kind, f"{capital(kind)[:-1]}: {said.lead}.", said.more)
    if state == "failed":
        return Answer("unschedulable", f"Unschedulable: {said.lead}.", (*said.more, "on_unschedulable is fail."))
    return Answer("never", f"Never fits: {said.lead}.", (*said.more, f"It {what_becomes_of_it(entry)}."))


def short_answer(entry: QueueEntry, decision: SchedulingDecision) -> str:
    """The answer in at most eight words, for lists."""
    if decision.outcome is Outcome.PLACED:
        return why_there(entry, decision).short
    if decision.outcome is Outcome.WAITING:
        return what_it_waits_for(entry, decision).short
    return why_never(entry, decision).short


def _placed(entry: QueueEntry, decision: SchedulingDecision, state: str, exit_code: int | None) -> Answer:
    why = why_there(entry, decision)
    verb = _PLACED.get(state, "Starts on")
    if exit_code is not None and verb.endswith(" on"):
        verb = f"{verb.removesuffix(' on')} with exit code {exit_code} on"
    more = (*why.more, *tier_sentences(decision))
    word = "placed" if state == "queued" else state
    if state in _STILL_THERE:
        return Answer(word, f"{verb} {place_of(decision)}: {why.lead}.", more)
    return Answer(word, f"{verb} {place_of(decision)}.", (f"Why there: {why.lead}.", *more))


def _unplaced(entry: QueueEntry, decision: SchedulingDecision, clock: Clock, closely: bool) -> Said:
    """What keeps it, then what its notes and its further targets have to say."""
    waiting = decision.outcome is Outcome.WAITING
    said = (
        what_it_waits_for(entry, decision, clock=clock, closely=closely) if waiting else why_never(entry, decision)
    )  # fmt: skip
    notes = tuple(capital(note_sentence(note)) for note in decision.notes) if decision.groups() else ()
    return Said(said.lead, (*said.more, *notes, *(tier_sentences(decision) if waiting else ())), said.short)


def _all_reserved(decision: SchedulingDecision) -> bool:
    groups = open_groups(decision)
    return bool(groups) and all(_RESERVED.intersection(group.codes) for group in groups)


def what_becomes_of_it(entry: QueueEntry) -> str:
    """What its submitter has asked for where it never fits, as a clause."""
    if entry.spec.on_unschedulable is OnUnschedulable.FAIL:
        return "ends as failed (on_unschedulable: fail)"
    return "stays queued (on_unschedulable: queue) and is decided again when the fleet changes"


def tier_sentences(decision: SchedulingDecision) -> tuple[str, ...]:
    """What became of each target, where there are several."""
    if len(decision.tiers) < 2:
        return ()
    return tuple(f"Target {tier.name}: {tier_words(tier.status, decision)}." for tier in decision.tiers)


def tier_words(status: TierStatus, decision: SchedulingDecision) -> str:
    """What became of one target, as a clause."""
    free = sum(len(group.workers) for group in decision.groups() if group.codes == (Code.TIER_CLOSED,))
    closed = (
        f"closed, because an earlier target could run this job later (fallback_when: incompatible);"
        f" {free:,} {agrees(free, 'worker', 'workers')} behind it could take it now,"
        f" and fallback_when: unavailable would let {agrees(free, 'it', 'them')}"
    )
    return {
        TierStatus.PLACED: "taken",
        TierStatus.WAITING: "could run it, not now",
        TierStatus.NEVER: "no worker could ever run it",
        TierStatus.CLOSED: closed if free else closed.split(";", maxsplit=1)[0],
        TierStatus.NOT_NEEDED: "not needed",
    }[status]


def only_tier_words(decision: SchedulingDecision) -> str:
    """`0 free of 60 that fit; no fallback`, of a job with one target."""
    counts = decision.counts()
    free = counts[Verdict.SELECTED] + counts[Verdict.ELIGIBLE]
    fit = free + counts[Verdict.UNAVAILABLE]
    return f"{free:,} free of {fit:,} that {agrees(fit, 'fits', 'fit')}; no fallback"
