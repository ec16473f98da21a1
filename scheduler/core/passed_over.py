"""Later jobs that started on workers that fit this one while it waited. First in, first out, but a job that cannot be
placed holds up no other; after a while the answer is to reserve.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry

SUGGEST_AFTER = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A job that was placed, as it is recorded."""

    job_id: str
    name: str
    submitted_at: datetime
    placed_at: datetime
    places: tuple[tuple[str, tuple[int, ...]], ...]
    """(worker, device indices) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaking:
    """One later job and what it took of the workers that fit this one."""

    job_id: str
    name: str
    placed_at: datetime
    places: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Whether others went ahead."""

    later: tuple[Overtaking, ...]
    """The latest first."""
    earlier: tuple[str, ...]
    """Jobs before this one in the queue that wait for some of the same workers."""
    waited: timedelta
    reserve: bool
    """Whether it was passed over and has waited so long that reserving is the thing to do."""


def passed_over(
    scene: Scene,
    *,
    queued_at: datetime,
    seen_at: datetime,
    started: Iterable[Started],
    before: Iterable[QueueEntry] = (),
) -> PassedOver:
    """Who went ahead between the two instants; `before` are the waiting jobs in front of this one."""
    fits = set(scene.named(scene.standing.compatible))
    later = [
        Overtaking(job_id=one.job_id, name=one.name, placed_at=one.placed_at, places=places)
        for one in started
        if one.submitted_at > queued_at
        and queued_at <= one.placed_at <= seen_at
        and (places := tuple(place for place in one.places if place[0] in fits))
    ]
    later.sort(key=lambda one: (one.placed_at, one.job_id), reverse=True)
    waited = max(seen_at - queued_at, timedelta())
    return PassedOver(
        later=tuple(later),
        earlier=tuple(entry.job_id for entry in before if _waits_for_the_same(scene, entry)),
        waited=waited,
        reserve=bool(later) and waited >= SUGGEST_AFTER,
    )


def _waits_for_the_same(scene: Scene, entry: QueueEntry) -> bool:
    return bool(scene.compatible_with(entry) & scene.standing.compatible)
