"""The panels beside the funnel of a job's page, each from one part of the core's explanation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from scheduler.core.answers import capital
from scheduler.core.decision import Outcome
from scheduler.core.relax_gang import GangVersion
from scheduler.core.why import Grounds, part
from scheduler.core.why_this import Ranked
from scheduler.core.why_words import (
    blockers_sentence,
    earlier_sentence,
    gang_change,
    gang_outcome,
    passed_over_sentence,
    relaxations_lead,
    taken_words,
    why_this_lead,
)
from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.views.job_answer import in_my_zone
from scheduler.views.why_values import edits, reasons_in_the_way
from workers.devices import DeviceBox, device_boxes

MOST_BLOCKED = 5
MOST_OVERTAKING = 8
MOST_PLACES = 64
"""Of larger gangs places are only counted."""

_TITLES = {
    (False, False): "What would start it sooner",
    (False, True): "What would have started it sooner",
    (True, False): "What would make it fit",
    (True, True): "What would have made it fit",
}
"""By whether it never fits, and whether it is over."""


@dataclass(frozen=True, slots=True)
class Version:
    """One line of the gang board: a torch version in a target, and how many of the places it fills."""

    torch: str
    tier: str
    free: int
    needed: int
    filled: tuple[bool, ...]
    """One for each place; none where there are too many to draw."""
    workers: tuple[str, ...]
    more: int
    busy: int
    busy_link: str
    outcome: tuple[str, str]
    change: str


@dataclass(frozen=True, slots=True)
class Placed:
    """One line of the policy's order, with the worker's devices as they were then."""

    ranked: Ranked
    boxes: tuple[DeviceBox, ...]


def panels_context(job: Job, rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    """What stands around the funnel: the gang's board; what would help, or why this worker; what is in the way."""
    waits = rec.decision.outcome is not Outcome.PLACED
    return {
        **_gang(rec, grounds),
        **(_relaxations(job, rec, grounds) if waits else _order(rec, grounds)),
        **(_in_the_way(grounds) if rec.decision.outcome is Outcome.WAITING else {}),
    }


def _gang(rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    versions = part("gang", grounds)
    environment = rec.entry.spec.runtime.environment
    return {
        "gang": [_version(one, rec) for one in versions],
        "gang_needs": versions[0].needed if versions else 0,
        "gang_torch": f"torch in {environment}" if environment else "torch",
        "gang_tiers": len({one.tier for one in versions}) > 1,
    }


def _version(one: GangVersion, rec: Recorded) -> Version:
    drawn = one.needed if one.needed <= MOST_PLACES else 0
    query = {"pass": rec.row.pass_row.number, "verdict": "busy", "by": "torch", "group": one.torch or "unknown"}
    return Version(
        torch=one.torch or "unknown", tier=one.tier, free=one.free, needed=one.needed,
        filled=tuple(place < one.free for place in range(drawn)), workers=one.free_workers,
        more=one.free - len(one.free_workers), busy=one.compatible - one.free, busy_link=urlencode(query),
        outcome=gang_outcome(one), change=capital(change) if (change := gang_change(one)) else "",
    )  # fmt: skip


def _relaxations(job: Job, rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    found = part("relaxations", grounds)
    never = rec.decision.outcome is Outcome.UNSCHEDULABLE
    return {
        "relax_title": _TITLES[never, job.is_over],
        "relax_lead": capital(relaxations_lead(found)),
        "edits": edits(sorted((*found.alone, *found.together), key=lambda one: not one.starts)),
    }


def _in_the_way(grounds: Grounds) -> dict[str, Any]:
    found, over = part("blockers", replace(grounds, clock=in_my_zone)), part("passed_over", grounds)
    told = passed_over_sentence(over)
    return {
        "blockers": found,
        "blockers_lead": capital(blockers_sentence(found, clock=in_my_zone)),
        "blocked": [(one, reasons_in_the_way(one)) for one in found.workers[:MOST_BLOCKED]],
        "more_blocked": max(0, found.total - MOST_BLOCKED),
        "passed_over": over,
        "passed_title": told[:1].upper() + told[1:],
        "overtaking": [(one, taken_words(one)) for one in over.later[:MOST_OVERTAKING]],
        "more_overtaking": max(0, len(over.later) - MOST_OVERTAKING),
        "earlier": earlier_sentence(over),
    }


def _order(rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    found = part("order", grounds)
    lead = why_this_lead(found)
    rule, _, other = lead.rpartition("; ") if found.other_choice else (lead, "", "")
    selected = {place.worker: place.devices for place in rec.decision.assignments}
    return {
        "order": [_placed(grounds, one, selected.get(one.worker, ())) for one in found.order],
        "order_title": f"Policy order: {found.policy}",
        "order_rule": rule.partition(": ")[2],
        "order_other": other,
        "order_memory": any(one.free_memory is not None for one in found.order),
        "more_in_order": found.eligible - len(found.order),
    }


def _placed(grounds: Grounds, one: Ranked, selected: Collection[int]) -> Placed:
    return Placed(one, device_boxes(grounds.scene.view(one.worker), selected))
