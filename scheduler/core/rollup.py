"""A whole queue at once: how many jobs wait for which reason, and what would let how many of them start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.core.bits import first
from scheduler.core.decision import Outcome, Parts, SchedulingDecision, Verdict
from scheduler.core.devices import load_of
from scheduler.core.explain import short_answer
from scheduler.core.fleet import Fleet, TaskLoad
from scheduler.core.levers import Lever, levers
from scheduler.core.reasons import ORDER, Code
from scheduler.core.spec import QueueEntry

Decided = tuple[QueueEntry, SchedulingDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The jobs that one reason, or one set of reasons, keeps from starting."""

    outcome: Outcome
    """`waiting` or `unschedulable`."""
    codes: tuple[Code, ...]
    """Of a waiting job, what stands first in the way on most workers that fit; of one that never fits, all that the
    nearest workers lack."""
    jobs: int
    oldest: str
    """The first of them in the queue."""
    oldest_since: str | float | None
    """When that was submitted, as its entry says it."""
    example: str
    """What is answered of the oldest, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollUp:
    """A queue after a pass."""

    placed: int
    waiting: int
    never: int
    causes: tuple[Cause, ...]
    """The commonest first."""
    levers: tuple[Lever, ...]
    """What would let most start, first; each by itself, and found by deciding the queue anew."""
    asked: int
    """How many of the jobs that did not start were asked again for it, the first in the queue."""


def roll_up(decided: Iterable[Decided], fleet: Fleet) -> RollUp:
    """Of the decisions of one pass in the order of the queue; `fleet` is what the pass began with."""
    everyone = list(decided)
    held_up = [(entry, decision) for entry, decision in everyone if decision.outcome is not Outcome.PLACED]
    never = sum(decision.outcome is Outcome.UNSCHEDULABLE for _, decision in held_up)
    found, asked = levers([entry for entry, _ in held_up], left_over(fleet, everyone))
    return RollUp(
        placed=len(everyone) - len(held_up),
        waiting=len(held_up) - never,
        never=never,
        causes=_causes(held_up),
        levers=found,
        asked=asked,
    )


def left_over(fleet: Fleet, decided: Iterable[Decided]) -> Fleet:
    """The fleet with everything on it that these decisions gave."""
    given: dict[str, list[TaskLoad]] = {}
    for entry, decision in decided:
        for place in decision.assignments:
            given.setdefault(place.worker, []).append(load_of(entry, place.devices))
    return Fleet(
        tuple(view.holding(*given[view.id]) if view.id in given else view for view in fleet.workers)
    )  # fmt: skip


def held_by(decision: SchedulingDecision) -> tuple[Code, ...]:
    """The codes by which a job that is not placed is counted."""
    if decision.group_reasons:
        return (decision.group_reasons[0].code,)
    parts = decision.evidence.parts()
    return _first_in_the_way(parts) if decision.outcome is Outcome.WAITING else _least_lacking(parts)


def _first_in_the_way(parts: Parts) -> tuple[Code, ...]:
    """What is the first obstacle on most of the workers that could run it in an open tier."""
    tally: dict[Code, int] = {}
    for (verdict, codes), workers in parts.items():
        if codes and verdict is not Verdict.INCOMPATIBLE and Code.TIER_CLOSED not in codes:
            tally[codes[0]] = tally.get(codes[0], 0) + workers.bit_count()
    return (max(tally, key=lambda code: (tally[code], -ORDER[code])),) if tally else (Code.TIER_CLOSED,)


def _least_lacking(parts: Parts) -> tuple[Code, ...]:
    """All that the workers lack that lack least, in the tiers if there are any; of several kinds, the commonest."""
    lacking = {codes: workers for (_, codes), workers in parts.items()}
    in_tiers = {codes: workers for codes, workers in lacking.items() if Code.TARGET not in codes}

    def least(found: tuple[tuple[Code, ...], int]) -> tuple[int, int, int]:
        codes, workers = found
        return len(codes), -workers.bit_count(), first(workers)

    return min((in_tiers or lacking).items(), key=least, default=((), 0))[0]


def _causes(held_up: Sequence[Decided]) -> tuple[Cause, ...]:
    """Jobs that find the same are counted by one look."""
    known: dict[int, tuple[Parts, tuple[Code, ...]]] = {}
    jobs: dict[tuple[Outcome, tuple[Code, ...]], list[Decided]] = {}
    for entry, decision in held_up:
        parts = decision.evidence.parts()
        if id(parts) not in known or decision.group_reasons:
            known[id(parts)] = (parts, held_by(decision))
        jobs.setdefault((decision.outcome, known[id(parts)][1]), []).append((entry, decision))
    causes = [_cause(*key, alike) for key, alike in jobs.items()]
    return tuple(sorted(causes, key=lambda cause: (-cause.jobs, [ORDER[code] for code in cause.codes])))


def _cause(outcome: Outcome, codes: tuple[Code, ...], alike: Sequence[Decided]) -> Cause:
    entry, decision = alike[0]
    return Cause(
        outcome=outcome, codes=codes, jobs=len(alike), oldest=entry.job_id, oldest_since=entry.submitted_at,
        example=short_answer(entry, decision),
    )  # fmt: skip
