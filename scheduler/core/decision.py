"""What a pass decided about one job, with the evidence from which every answer is derived."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from scheduler.core.reasons import GroupReason, Kind, Note, Reason
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
