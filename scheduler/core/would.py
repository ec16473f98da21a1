"""What would become of a job that is not submitted yet, in words: the answer of a decision that nobody stored."""

from __future__ import annotations

from datetime import datetime

from scheduler.core.answers import capital, place_of, why_there
from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.explain import Answer, answer, tier_sentences
from scheduler.core.spec import OnUnschedulable, QueueEntry
from scheduler.core.words import Clock, in_utc

OTHERS = "Another job may take its place before you submit."


def would(
    entry: QueueEntry, decision: SchedulingDecision, *, ends_at: datetime | None = None, clock: Clock = in_utc
) -> Answer:
    """Where it would start, or why it would wait or never fit; of a hold that would begin now, `ends_at` is its end."""
    if decision.outcome is Outcome.PLACED:
        why = why_there(entry, decision)
        return Answer(
            "placed", _begins(entry, decision, ends_at, clock), (capital(why.lead), OTHERS, *tier_sentences(decision))
        )
    said = answer(entry, decision, clock=clock)
    if decision.outcome is Outcome.WAITING:
        return Answer(said.state, f"Would wait: {said.lead.partition(': ')[2]}", said.more)
    return Answer(said.state, said.lead, (*said.more[:-1], _anyway(entry)))


def _begins(entry: QueueEntry, decision: SchedulingDecision, ends_at: datetime | None, clock: Clock) -> str:
    place = place_of(decision)
    if entry.spec.hold_s is None:
        return f"Would run now on {place}."
    return f"Would hold {place} now{f', until {clock(ends_at)}' if ends_at else ''}."


def _anyway(entry: QueueEntry) -> str:
    if entry.spec.on_unschedulable is OnUnschedulable.FAIL:
        return "Submitted, it would end as failed at once (on_unschedulable: fail)."
    return "Submitted anyway, it waits, and runs if such a worker is added."


def verdict(said: Answer) -> str:
    """The leading sentence without its reasons, for where there is no room: `Would wait`, `Never fits`."""
    return said.lead.rstrip(".") if said.state == "placed" else said.lead.partition(":")[0]
