"""One edit of a job and what it is good for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler.core.asks import Stage
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec

MOST_NAMED = 5
FEW = 8
"""Up to so many values are tried one after the other; of more, halves are ruled out at once."""
Helps = Callable[[JobSpec], bool]


@dataclass(frozen=True, slots=True)
class Change:
    """One requirement with another value; both in words."""

    field: str
    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """A job that asks for less. Gains are counted against the job as it is, at the same moment of the same fleet."""

    changes: tuple[Change, ...]
    spec: JobSpec
    """The whole edited job, ready to submit."""
    gained: int
    """Workers that could run it and could not before."""
    gained_free: int
    """How many of these could take it now."""
    free: int
    """Workers that could take it now and could not before, whether newly gained or merely busy for the job as it is."""
    fits: bool
    """Whether the edited job could ever be placed."""
    starts: bool
    """Whether the edited job would start now."""
    examples: tuple[str, ...]
    """Some of the workers gained, or freed where none is gained; those first that could take it now."""


def measured(scene: Scene, changes: tuple[Change, ...], spec: JobSpec) -> Relaxation:
    """What this edit is good for."""
    before, after = scene.standing, scene.stand(spec)
    gained = after.compatible & ~before.compatible
    free = after.eligible & ~before.eligible
    shown = (*scene.named(free & gained)[:MOST_NAMED], *scene.named(gained & ~free or free & ~gained)[:MOST_NAMED])
    return Relaxation(
        changes=changes,
        spec=spec,
        gained=gained.bit_count(),
        gained_free=(gained & free).bit_count(),
        free=free.bit_count(),
        fits=after.ever,
        starts=after.starts,
        examples=shown[:MOST_NAMED],
    )


def first_that_helps(stages: Sequence[Stage], helps: Helps) -> int | None:
    """The place of the nearest stage that helps; of many, each is taken to reach as far as those before it."""

    def some(stage: Stage) -> bool:
        return any(helps(step[0]) for step in stage)

    if len(stages) <= FEW or some(stages[0]):
        return next((place for place, stage in enumerate(stages) if some(stage)), None)
    low, high = 0, len(stages) - 1
    if not some(stages[high]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if some(stages[middle]) else (middle, high)
    return high
