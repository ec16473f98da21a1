"""What changed between two decisions about one job, and why: only candidates whose verdict or codes changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.core.bits import members
from scheduler.core.decision import Candidate, Outcome, Parts, SchedulingDecision, Verdict
from scheduler.core.difference_words import became, causes
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.funnel import funnel
from scheduler.core.reasons import Code
from scheduler.core.spec import QueueEntry
from scheduler.core.words import Clock, in_utc

FEW = 64
"""Up to so many candidates are asked for one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of the funnel, before and after."""

    key: str
    label: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One candidate. A verdict is None where the fleet did not have the worker."""

    worker: str
    before: Verdict | None
    after: Verdict | None
    codes_before: tuple[Code, ...]
    codes_after: tuple[Code, ...]
    headline: str
    """`gpu-019 came free`."""
    causes: tuple[str, ...]
    """`j-7e1 released devices 0 and 1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Empty where both say the same."""

    outcome_before: Outcome
    outcome_after: Outcome
    places_before: tuple[str, ...]
    places_after: tuple[str, ...]
    steps: tuple[Step, ...]
    """The stages of the funnel of which the number changed."""
    changed: tuple[Changed, ...]
    """By worker."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed that counts as a change."""
        same_end = self.outcome_before is self.outcome_after and self.places_before == self.places_after
        return same_end and not self.changed


def difference(
    before: tuple[QueueEntry, SchedulingDecision],
    after: tuple[QueueEntry, SchedulingDecision],
    *,
    fleets: tuple[Fleet, Fleet] | None = None,
    clock: Clock = in_utc,
) -> Difference:
    """From one decision to the other; the fleets that they saw tell which task let go of what."""
    (_, first), (_, last) = before, after
    views = tuple({view.id: view for view in fleet.workers} for fleet in fleets) if fleets else ({}, {})
    workers = sorted(_changed_workers(first, last))
    sides = (_candidates(first, workers), _candidates(last, workers))
    return Difference(
        outcome_before=first.outcome,
        outcome_after=last.outcome,
        places_before=_places(first),
        places_after=_places(last),
        steps=_steps(before, after),
        changed=tuple(_change(worker, sides, (views[0], views[1]), clock) for worker in workers),
    )


def changed_count(first: SchedulingDecision, last: SchedulingDecision) -> int:
    """How many candidates have another verdict or other codes in the later one."""
    return len(_changed_workers(first, last))


def _changed_workers(first: SchedulingDecision, last: SchedulingDecision) -> set[str]:
    """By sets where both saw the same workers; else one by one."""
    before, after = first.evidence, last.evidence
    if before.roster.ids == after.roster.ids:
        return set(members(_apart(before.parts(), after.parts()), before.roster.ids))
    was, now = _by_worker(first), _by_worker(last)
    return {worker for worker in {**was, **now} if was.get(worker) != now.get(worker)}


def _apart(before: Parts, after: Parts) -> int:
    apart = 0
    for part in {**before, **after}:
        apart |= before.get(part, 0) ^ after.get(part, 0)
    return apart


def _by_worker(decision: SchedulingDecision) -> dict[str, tuple[Verdict, tuple[Code, ...]]]:
    return {worker: (group.verdict, group.codes) for group in decision.groups() for worker in group.workers}


def _candidates(decision: SchedulingDecision, workers: list[str]) -> dict[str, Candidate]:
    there = set(decision.evidence.roster.ids)
    known = [worker for worker in workers if worker in there]
    if len(known) <= FEW:
        return {worker: decision.candidate(worker) for worker in known}
    wanted = set(known)
    return {found.worker: found for found in decision.candidates if found.worker in wanted}


def _places(decision: SchedulingDecision) -> tuple[str, ...]:
    return tuple(place.worker for place in decision.assignments)


def _steps(
    before: tuple[QueueEntry, SchedulingDecision], after: tuple[QueueEntry, SchedulingDecision]
) -> tuple[Step, ...]:
    was = {stage.key: stage.count for stage in funnel(*before)}
    return tuple(
        Step(key=stage.key, label=stage.label.split(":")[0], before=was[stage.key], after=stage.count)
        for stage in funnel(*after)
        if stage.key in was and was[stage.key] != stage.count
    )


def _change(
    worker: str,
    sides: tuple[Mapping[str, Candidate], Mapping[str, Candidate]],
    views: tuple[Mapping[str, WorkerView], Mapping[str, WorkerView]],
    clock: Clock,
) -> Changed:
    before, after = sides[0].get(worker), sides[1].get(worker)
    return Changed(
        worker=worker,
        before=before.verdict if before else None,
        after=after.verdict if after else None,
        codes_before=_codes(before),
        codes_after=_codes(after),
        headline=became(worker, before, after),
        causes=causes(before, after, views[0].get(worker), views[1].get(worker), clock),
    )


def _codes(candidate: Candidate | None) -> tuple[Code, ...]:
    return tuple(dict.fromkeys(reason.code for reason in candidate.reasons)) if candidate else ()
