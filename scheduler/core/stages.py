"""Fleets so small that a trial costs next to nothing, on which the same jobs start as on the whole one."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.core.bits import first, less
from scheduler.core.fleet import WorkerView
from scheduler.core.gang import members
from scheduler.core.scene import Scene
from scheduler.core.spec import FallbackWhen, QueueEntry
from scheduler.core.standings import Standing
from scheduler.core.trials import Turn

MOST_KINDS = 200
"""Kinds of jobs that ask more of a fleet than one free worker; of more of them a fleet is not made smaller."""


def stage(queue: Iterable[Turn], scene: Scene) -> tuple[WorkerView, ...]:
    """The workers on which, with whichever become better beside them, the same jobs start as on the whole fleet.

    None of these jobs starts on the scene. So a job of one task starts on a better worker or not at all, whatever the
    others are; but a gang takes others along that are free, and somebody's being compatible at all may close a later
    tier, or a worker on which the job failed.
    """
    kinds = {turn.kind: turn.entry for turn in queue}
    asking = [entry for entry in kinds.values() if members(entry.spec) > 1 or _looks_around(entry)]
    everyone = scene.census.everyone
    if len(asking) > MOST_KINDS or any(members(entry.spec) > 1 and _looks_around(entry) for entry in asking):
        return scene.views(everyone)
    needed = 0
    for entry in asking:
        standing = scene.beside(entry).standing
        needed |= standing.eligible if members(entry.spec) > 1 else _witnesses(standing)
    return scene.views(needed)


def _looks_around(entry: QueueEntry) -> bool:
    """Whether it depends on there being other workers that could run the job, free or not."""
    spec = entry.spec
    return bool(entry.failed_on) or (bool(spec.fallback_targets) and spec.fallback_when is FallbackWhen.INCOMPATIBLE)


def _witnesses(standing: Standing) -> int:
    """Of each tier one worker that could run the job, and one on which it has not failed."""
    shape, failed = standing.shape, standing.shape.ranks(frozenset(standing.entry.failed_on))
    found = 0
    for tier in standing.entry.spec.tiers:
        for able in (shape.in_tier(tier), less(shape.in_tier(tier), failed)):
            if able:
                found |= 1 << first(able)
    return found
