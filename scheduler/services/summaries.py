"""The compact form of a decision: what lists and pages show of it without making it again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from scheduler.core.decision import SchedulingDecision
from scheduler.core.explain import answer, funnel, short_answer
from scheduler.core.spec import QueueEntry


def summary_of(entry: QueueEntry, decision: SchedulingDecision) -> dict[str, Any]:
    """Plain JSON: `answer`, `short_answer`, `funnel`, `counts`, `tiers`, `assignments`, `ever_schedulable`."""
    said = answer(entry, decision)
    return {
        "answer": {"state": said.state, "lead": said.lead, "more": list(said.more)},
        "short_answer": short_answer(entry, decision),
        "funnel": [asdict(stage) for stage in funnel(entry, decision)],
        "counts": {str(verdict): count for verdict, count in decision.counts().items()},
        "tiers": [{"name": tier.name, "status": str(tier.status)} for tier in decision.tiers],
        "assignments": [
            {"worker": place.worker, "node_rank": place.node_rank, "devices": list(place.devices)}
            for place in decision.assignments
        ],
        "ever_schedulable": decision.ever_schedulable,
    }
