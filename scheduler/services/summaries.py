"""The compact form of a decision: what lists show of it without making it again.

A row is rewritten whenever anything changes for a waiting job, so it holds no more than that. Everything else (funnel,
groups, candidates) is found by expanding it (`scheduler.services.recorded`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.explain import answer, funnel, short_answer
from scheduler.core.progress import progress
from scheduler.core.reasons import Code
from scheduler.core.rollup import held_by
from scheduler.core.spec import QueueEntry

MOST_CLOSE = 100
"""Situations of one pass in which single workers are asked for the closest; beyond, groups have to do."""


class Summaries:
    """The summaries of one pass: jobs that ask for the same in the same situation share their words."""

    def __init__(self) -> None:
        self._found: dict[Hashable, dict[str, Any]] = {}

    def of(self, entry: QueueEntry, decision: SchedulingDecision, *, given: str) -> dict[str, Any]:
        """The job's summary; `given` is the digest of what was given to the jobs before it."""
        # What never fits doesn't fit whatever others hold.
        load = "" if decision.outcome is Outcome.UNSCHEDULABLE else given
        key = (entry.spec.asked, _limit(entry, decision), entry.holders, entry.failed_on, decision.fingerprint, load)
        if key not in self._found:
            closely = len(self._found) < MOST_CLOSE
            self._found[key] = summary_of(entry, decision, closely=closely)
        return self._found[key]


def _limit(entry: QueueEntry, decision: SchedulingDecision) -> int | None:
    """The job's time limit, where it is part of what is said."""
    said = any(Code.RESERVED_FROM in codes for _, codes in decision.evidence.parts())
    return entry.spec.limit_s if said else None


def summary_of(entry: QueueEntry, decision: SchedulingDecision, *, closely: bool) -> dict[str, Any]:
    """Plain JSON: `answer`, `short_answer`, `tiers`, `assignments`, `steps` by key, and `near`: free of needed.

    `held_by`: the codes by which a job that waits or never fits is counted, in one text; lists are filtered by it.
    """
    said = answer(entry, decision, closely=closely)
    near = progress(entry, decision) if closely else None
    return {
        "answer": {"state": said.state, "lead": said.lead, "more": list(said.more)},
        "short_answer": short_answer(entry, decision),
        "tiers": [{"name": tier.name, "status": str(tier.status)} for tier in decision.tiers],
        "assignments": [
            {"worker": place.worker, "node_rank": place.node_rank, "devices": list(place.devices)}
            for place in decision.assignments
        ],
        "steps": {stage.key: stage.count for stage in funnel(entry, decision)},
        **({"near": {"free": near.free, "needed": near.needed, "unit": near.unit}} if near else {}),
        **(
            {} if decision.outcome is Outcome.PLACED else {"held_by": ",".join(code.text for code in held_by(decision))}
        ),
    }
