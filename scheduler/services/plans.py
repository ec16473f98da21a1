"""What a pass means to write: one plan for each job about which something changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from scheduler.core.decision import Assignment, Outcome, SchedulingDecision
from scheduler.core.schedule import PassResult
from scheduler.core.spec import OnUnschedulable, QueueEntry
from scheduler.queue import Queued
from scheduler.services.digests import decision_digest
from scheduler.services.summaries import Summaries

REFRESH_AFTER = timedelta(seconds=30)


class Act(Enum):
    """What to do about a job besides writing its decision down."""

    PLACE = auto()
    FAIL = auto()
    CHANGE = auto()
    REFRESH = auto()
    """Nothing counts as a change; only figures and holders are brought up to date."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One job's part in a commit, complete: it needs neither the decision nor the fleet any more."""

    pk: int
    """Of the job."""
    entry: QueueEntry
    position: int
    act: Act
    outcome: str
    fingerprint: str
    digest: str
    summary: dict[str, Any]
    assignments: tuple[Assignment, ...]


def plan_for(queued: Queued, result: PassResult, act: Act, *, view: str, given: str, summaries: Summaries) -> Plan:
    """What to write about this job; `view` and `given` are the digests of what its decision was made from."""
    decision = result.decision
    return Plan(
        pk=queued.pk,
        entry=result.entry,
        position=result.position,
        act=act,
        outcome=decision.outcome.value,
        fingerprint=decision.fingerprint,
        digest=decision_digest(view=view, given=given, entry=result.entry, decision=decision),
        summary=summaries.of(result.entry, decision, given=given),
        assignments=decision.assignments,
    )


def needs_refresh(queued: Queued, now: datetime) -> bool:
    """Whether the figures of its latest decision are old enough to be brought up to date."""
    return queued.latest is not None and now - queued.latest.seen_at >= REFRESH_AFTER


def act_on(queued: Queued, decision: SchedulingDecision, now: datetime) -> Act | None:
    """What is to be done about this job; None where its latest decision still says it all."""
    if decision.outcome is Outcome.PLACED:
        return Act.PLACE
    if decision.outcome is Outcome.UNSCHEDULABLE and _gives_up(queued):
        return Act.FAIL
    if queued.latest is None or queued.latest.fingerprint != decision.fingerprint:
        return Act.CHANGE
    return Act.REFRESH if needs_refresh(queued, now) else None


def _gives_up(queued: Queued) -> bool:
    return queued.entry is not None and queued.entry.spec.on_unschedulable is OnUnschedulable.FAIL
