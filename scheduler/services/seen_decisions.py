"""Kept decisions as somebody may see them: made again on the fleet as that user may see it.

What other jobs are called decides nothing, so every verdict and every reason is the one that was kept; only that of
others' jobs neither ids nor time limits are told, wherever the decision is explained.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from scheduler.memory import once, remembered
from scheduler.models import Decision, Job
from scheduler.services.recorded import Recorded, recorded, recorded_at, scene_on
from scheduler.services.seen_fleet import fleet_as_seen, jobs_in
from scheduler.services.visibility import seen_ids, sees_all

MOST_KEPT = 16

Key = tuple[int, str]
_named: OrderedDict[Key, frozenset[str]] = remembered(OrderedDict())
_seen: OrderedDict[tuple[Key, frozenset[str]], Recorded] = remembered(OrderedDict())


def recorded_for(user: Any, job: Job) -> Recorded | None:
    """The job's latest decision in full, as this user may see it; None before the first."""
    kept = recorded(job)
    return kept and _as_seen(kept, user)


def recorded_at_for(user: Any, row: Decision) -> Recorded:
    """This decision in full, as this user may see it."""
    return _as_seen(recorded_at(row), user)


def _as_seen(kept: Recorded, user: Any) -> Recorded:
    """One query where jobs are hidden, and the decision made once more where one of them holds something."""
    if sees_all(user):
        return kept
    key = (kept.row.pk, kept.row.digest)
    named = once(_named, key, MOST_KEPT, lambda: jobs_in(kept.fleet))
    seen = seen_ids(user, named)
    if seen == named:
        return kept
    return once(_seen, (key, seen), MOST_KEPT, lambda: _decided_again(kept, seen))


def _decided_again(kept: Recorded, seen: frozenset[str]) -> Recorded:
    fleet = fleet_as_seen(kept.fleet, seen)
    scene = scene_on(kept.entry, fleet)
    return replace(kept, fleet=fleet, scene=scene, decision=scene.decided())
