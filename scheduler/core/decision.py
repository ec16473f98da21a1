"""What a pass decided about one job, with the evidence from which every answer is derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Protocol

from scheduler.core.bits import first, groups_of
from scheduler.core.reasons import ORDER, Code, GroupReason, Kind, Note, Reason
from scheduler.core.rosters import Part, Roster
from scheduler.core.spec import Policy


class Outcome(StrEnum):
    """Done, wait, or never as the fleet stands."""

    PLACED = "placed"
    WAITING = "waiting"
    UNSCHEDULABLE = "unschedulable"


class Verdict(StrEnum):
    """One candidate's part in it."""

    SELECTED = "selected"
    ELIGIBLE = "eligible"
    UNAVAILABLE = "unavailable"
    INCOMPATIBLE = "incompatible"


class TierStatus(StrEnum):
    """What became of one tier."""

    PLACED = "placed"
    WAITING = "waiting"
    NEVER = "never"
    CLOSED = "closed"
    NOT_NEEDED = "not_needed"


@dataclass(frozen=True, slots=True)
class Tier:
    """One allowed origin and what became of it."""

    name: str
    status: TierStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One task's place."""

    worker: str
    node_rank: int = 0
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One worker as one job's decision sees it, with all its reasons."""

    worker: str
    reasons: tuple[Reason, ...] = ()
    selected: bool = False
    key: tuple[int | str | None, ...] | None = None
    """The policy's sort key, on eligible and selected candidates."""

    @property
    def verdict(self) -> Verdict:
        """Derived from the reasons: a capability reason outweighs any availability reason."""
        if self.selected:
            return Verdict.SELECTED
        if not self.reasons:
            return Verdict.ELIGIBLE
        never = any(reason.code.kind is Kind.CAPABILITY for reason in self.reasons)
        return Verdict.INCOMPATIBLE if never else Verdict.UNAVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateGroup:
    """The workers that one set of codes stands against."""

    verdict: Verdict
    codes: tuple[Code, ...]
    """In the order of the checks, each once; empty for the selected and the eligible."""
    workers: Sequence[str]
    """Ids, sorted."""


Parts = Mapping[tuple[Verdict, tuple[Code, ...]], int]
"""The workers of a roster by verdict and codes, as sets of ranks."""


class Evidence(Protocol):
    """Where a decision has its candidates from. A pass makes them when they are asked for."""

    @property
    def roster(self) -> Roster:
        """Every worker of the fleet."""

    def parts(self) -> Parts:
        """The workers by verdict and set of codes."""

    def candidates(self) -> tuple[Candidate, ...]:
        """One for every worker of the fleet, sorted by id."""

    def candidate(self, worker: str) -> Candidate:
        """That worker's; KeyError where the fleet has no such worker."""


class Listed:
    """Candidates that lie ready."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._by_worker = {candidate.worker: candidate for candidate in candidates}
        self.roster = Roster(sorted(self._by_worker))

    def parts(self) -> Parts:
        """By verdict and set of codes."""
        return groups_of((candidate.verdict, _codes(candidate)) for candidate in self.candidates())

    def candidates(self) -> tuple[Candidate, ...]:
        """Sorted by id."""
        return tuple(self._by_worker[worker] for worker in self.roster.ids)

    def candidate(self, worker: str) -> Candidate:
        """That worker's; KeyError where there is none."""
        return self._by_worker[worker]


def _codes(candidate: Candidate) -> tuple[Code, ...]:
    return tuple(sorted({reason.code for reason in candidate.reasons}, key=ORDER.__getitem__))


@dataclass(frozen=True, kw_only=True, eq=False)
class SchedulingDecision:
    """What one pass decided about one job; two are equal when they say the same, wherever their evidence lies."""

    job_id: str
    policy: Policy
    tiers: tuple[Tier, ...]
    assignments: tuple[Assignment, ...] = ()
    """By node rank; empty unless every task has its place."""
    group_reasons: tuple[GroupReason, ...] = ()
    job_reasons: tuple[Reason, ...] = ()
    notes: tuple[Note, ...] = ()
    ever_schedulable: bool
    """Whether some tier has enough compatible workers, whatever their availability."""
    evidence: Evidence = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        """Derived from the assignments and from whether the fleet could ever run it."""
        if self.assignments:
            return Outcome.PLACED
        return Outcome.WAITING if self.ever_schedulable else Outcome.UNSCHEDULABLE

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every worker of the fleet with all its reasons, sorted by id."""
        return self.evidence.candidates()

    def candidate(self, worker: str) -> Candidate:
        """One worker's part in it; KeyError where the fleet had no such worker."""
        return self.evidence.candidate(worker)

    def groups(self) -> tuple[CandidateGroup, ...]:
        """The candidates by verdict and set of codes, the largest group first; of one size, by their first worker."""
        roster = self.evidence.roster
        largest_first = sorted(self.evidence.parts().items(), key=lambda part: (-part[1].bit_count(), first(part[1])))
        return tuple(
            CandidateGroup(verdict=verdict, codes=codes, workers=Part(roster, workers))
            for (verdict, codes), workers in largest_first
        )

    def counts(self) -> dict[Verdict, int]:
        """How many candidates have each verdict."""
        counts = dict.fromkeys(Verdict, 0)
        for (verdict, _), workers in self.evidence.parts().items():
            counts[verdict] += workers.bit_count()
        return counts

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of what counts as a change: outcome, tiers, assignments, group codes, verdicts, sets of codes."""
        said = [
            self.outcome,
            *(f"{tier.name} {tier.status}" for tier in self.tiers),
            *(f"{place.node_rank} {place.worker} {place.devices}" for place in self.assignments),
            *sorted({reason.code.text for reason in self.group_reasons}),
            self.evidence.roster.digest,
            *sorted(
                f"{verdict} {','.join(code.text for code in codes)} {workers:x}"
                for (verdict, codes), workers in self.evidence.parts().items()
            ),
        ]
        return sha256("\n".join(said).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchedulingDecision):
            return NotImplemented
        return self._head() == other._head() and self.candidates == other.candidates

    def __hash__(self) -> int:
        return hash(self._head())

    def _head(self) -> tuple[object, ...]:
        return (
            self.job_id, self.policy, self.tiers, self.assignments, self.group_reasons, self.job_reasons, self.notes,
            self.ever_schedulable,
        )  # fmt: skip
