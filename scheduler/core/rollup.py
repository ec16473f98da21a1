"""A whole queue at once: how many jobs wait for which reason, and what would let how many of them start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.core.bits import first
from scheduler.core.decision import Outcome, Parts, SchedulingDecision, Verdict
from scheduler.core.devices import load_of
from scheduler.core.engine import Engine
from scheduler.core.explain import short_answer
from scheduler.core.fleet import Fleet, TaskLoad
from scheduler.core.levers import MOST_NAMED, Kind, Lever, levers
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp:
    """A cause with all its jobs, in the order of the queue."""

    outcome: Outcome
    codes: tuple[Code, ...]
    jobs: tuple[str, ...]
    since: str | float | None
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAccount:
    """A queue after a pass, with the jobs of everything by id: what a roll-up of all or of some of them is made of."""

    placed: tuple[str, ...]
    causes: tuple[HeldUp, ...]
    levers: tuple[Lever, ...]
    """With all the jobs that would start."""
    asked: tuple[str, ...]

    def told(
        self, seen: Collection[str] | None = None, said: Callable[[str], tuple[str, str | float | None]] | None = None
    ) -> RollUp:
        """The roll-up; of those jobs alone that are seen, if that is given, as if the others were not there.

        `said` tells of a job what is answered of it and when it was submitted; without it, as the pass found them.
        """
        causes = [cause for each in self.causes if (cause := _told(each, seen, said))]
        useful = [lever for each in self.levers if (lever := _lever_told(each, seen)).starts and _is_named(each, seen)]
        count = {
            outcome: sum(cause.jobs for cause in causes if cause.outcome is outcome)
            for outcome in (Outcome.WAITING, Outcome.UNSCHEDULABLE)
        }
        return RollUp(
            placed=len(_among(self.placed, seen)),
            waiting=count[Outcome.WAITING],
            never=count[Outcome.UNSCHEDULABLE],
            causes=tuple(sorted(causes, key=lambda cause: (-cause.jobs, [ORDER[code] for code in cause.codes]))),
            levers=tuple(sorted(useful, key=lambda lever: (-lever.starts, lever.kind, lever.subject))),
            asked=len(_among(self.asked, seen)),
        )


def roll_up(decided: Iterable[Decided], fleet: Fleet) -> RollUp:
    """Of the decisions of one pass in the order of the queue; `fleet` is what the pass began with."""
    gathering = Gathering()
    for entry, decision in decided:
        gathering.add(entry, decision)
    return gathering.account(fleet).told()


class Gathering:
    """Counts the decisions of a pass as they are made, and holds on to no more of them than it has to."""

    def __init__(self) -> None:
        self._placed: list[str] = []
        self._given: dict[str, list[TaskLoad]] = {}
        self._held_up: list[QueueEntry] = []
        self._known: dict[int, tuple[Parts, tuple[Code, ...]]] = {}
        self._jobs: dict[tuple[Outcome, tuple[Code, ...]], list[str]] = {}
        self._first: dict[tuple[Outcome, tuple[Code, ...]], tuple[str | float | None, str]] = {}

    def add(self, entry: QueueEntry, decision: SchedulingDecision) -> None:
        """The next one in the order of the queue."""
        if decision.outcome is Outcome.PLACED:
            self._placed.append(entry.job_id)
            _give(self._given, entry, decision)
            return
        self._held_up.append(entry)
        key = decision.outcome, self._codes(decision)
        if key not in self._jobs:
            self._jobs[key] = []
            self._first[key] = entry.submitted_at, short_answer(entry, decision)
        self._jobs[key].append(entry.job_id)

    def account(self, fleet: Fleet, *, engine: Engine | None = None) -> QueueAccount:
        """What there is to say once all are in; `fleet` is what the pass began with."""
        found, asked = levers(self._held_up, _with(fleet, self._given), engine=engine)
        return QueueAccount(
            placed=tuple(self._placed),
            causes=tuple(
                HeldUp(
                    outcome=key[0], codes=key[1], jobs=tuple(jobs), since=self._first[key][0],
                    example=self._first[key][1],
                )
                for key, jobs in self._jobs.items()
            ),
            levers=found,
            asked=tuple(entry.job_id for entry in self._held_up[:asked]),
        )  # fmt: skip

    def _codes(self, decision: SchedulingDecision) -> tuple[Code, ...]:
        """Jobs that find the same are counted by one look."""
        if decision.group_reasons:
            return held_by(decision)
        parts = decision.evidence.parts()
        if id(parts) not in self._known:
            self._known[id(parts)] = (parts, held_by(decision))
        return self._known[id(parts)][1]


def left_over(fleet: Fleet, decided: Iterable[Decided]) -> Fleet:
    """The fleet with everything on it that these decisions gave."""
    given: dict[str, list[TaskLoad]] = {}
    for entry, decision in decided:
        _give(given, entry, decision)
    return _with(fleet, given)


def _give(given: dict[str, list[TaskLoad]], entry: QueueEntry, decision: SchedulingDecision) -> None:
    for place in decision.assignments:
        given.setdefault(place.worker, []).append(load_of(entry, place.devices))


def _with(fleet: Fleet, given: dict[str, list[TaskLoad]]) -> Fleet:
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


def _among(jobs: Sequence[str], seen: Collection[str] | None) -> Sequence[str]:
    return jobs if seen is None else [job_id for job_id in jobs if job_id in seen]


def _told(
    cause: HeldUp, seen: Collection[str] | None, said: Callable[[str], tuple[str, str | float | None]] | None
) -> Cause | None:
    jobs = _among(cause.jobs, seen)
    if not jobs:
        return None
    example, since = cause.example, cause.since
    if said is not None:
        example, since = said(jobs[0])
    return Cause(
        outcome=cause.outcome, codes=cause.codes, jobs=len(jobs), oldest=jobs[0], oldest_since=since, example=example
    )


def _lever_told(lever: Lever, seen: Collection[str] | None) -> Lever:
    jobs = _among(lever.jobs, seen)
    return replace(lever, starts=len(jobs), jobs=tuple(jobs[:MOST_NAMED]))


def _is_named(lever: Lever, seen: Collection[str] | None) -> bool:
    """Whether it may be told whose end it is."""
    return seen is None or lever.kind is not Kind.RELEASE or lever.subject in seen
