"""A queue on two fleets: what a change of workers would mean for each waiting job, before it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from scheduler.core.bits import each, less
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet
from scheduler.core.scene import Scene
from scheduler.core.schedule import in_order_of_submission
from scheduler.core.spec import QueueEntry
from scheduler.core.trials import starting, turns
from scheduler.core.windows import seen_at

MOST_COMPARED = 10_000
MOST_NAMED = 5


class Effect(StrEnum):
    """What the change does to one job, the worst first: one job has only the first that applies."""

    NEVER_FITS = "never_fits"
    """No set of workers could run it any more."""
    NO_START = "no_start"
    """It would have started now, and would not."""
    LOSES = "loses"
    """Fewer workers can run it or could take it now, and none more."""
    SHIFTS = "shifts"
    """Some workers for others."""
    GAINS = "gains"
    """More workers can run it or could take it now, and none fewer."""
    STARTS = "starts"
    """It would start now, and would not have."""
    FITS = "fits"
    """It could be run by some set of workers, and by none before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The workers of one sort, before and after."""

    before: int
    after: int
    gained: int
    lost: int
    gained_examples: tuple[str, ...] = ()
    lost_examples: tuple[str, ...] = ()
    """Some of them, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One waiting job for which the change makes a difference. Jobs of one kind share everything but the entry."""

    entry: QueueEntry
    effect: Effect
    can_run: Moved
    """The workers that could ever run it, or a member of it."""
    free: Moved
    """The workers that could take it, or a member of it, now, if it were its turn."""
    fits_before: bool
    fits_after: bool
    starts_before: bool
    starts_after: bool
    """Whether it would start in a pass over the whole queue."""


def compare(
    entries: Iterable[QueueEntry], before: Fleet, after: Fleet, at: datetime | None = None
) -> tuple[Changed, ...]:
    """What becomes of each waiting job when `before` turns into `after`: by effect, the worst first, then by the queue.

    Jobs for which nothing changes are left out, and so are those behind the first 10,000. `at` is the instant from
    which upcoming reservations of both fleets are looked at.
    """
    queue = in_order_of_submission(entries)[:MOST_COMPARED]
    if not queue:
        return ()
    sides = _Sides(queue, before, after, at)
    found = (sides.changed(entry, kind) for entry, kind in sides.queue)
    rank = {effect: place for place, effect in enumerate(Effect)}
    return tuple(sorted((one for one in found if one is not None), key=lambda one: rank[one.effect]))


@dataclass(frozen=True, slots=True)
class _Difference:
    """Of one kind of job."""

    can_run: Moved
    free: Moved
    fits_before: bool
    fits_after: bool


class _Sides:
    """Both fleets, asked once for each kind of job."""

    def __init__(self, queue: Sequence[QueueEntry], before: Fleet, after: Fleet, at: datetime | None) -> None:
        first = Engine()
        engines = (first, first.beside())
        views = [seen_at(fleet.workers, at) for fleet in (before, after)]
        self._scenes = [Scene(queue[0], workers, engine=engine) for workers, engine in zip(views, engines, strict=True)]
        numbered = turns(queue, *(scene.census for scene in self._scenes))
        self.queue = [(entry, turn.kind) for entry, turn in zip(queue, numbered, strict=True)]
        self._starts = [
            set(starting(numbered, workers, engine)) for workers, engine in zip(views, engines, strict=True)
        ]
        self._same_workers = len({scene.census.roster.ids for scene in self._scenes}) == 1
        self._known: dict[int, _Difference] = {}

    def changed(self, entry: QueueEntry, kind: int) -> Changed | None:
        """What changes for one job; None where nothing does."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._difference(entry)
        starts = [entry.job_id in started for started in self._starts]
        effect = _effect(known, *starts)
        if effect is None:
            return None
        return Changed(
            entry=entry, effect=effect, can_run=known.can_run, free=known.free, fits_before=known.fits_before,
            fits_after=known.fits_after, starts_before=starts[0], starts_after=starts[1],
        )  # fmt: skip

    def _difference(self, entry: QueueEntry) -> _Difference:
        before, after = (scene.beside(entry) for scene in self._scenes)
        was, will = before.standing, after.standing
        moved = self._by_rank if self._same_workers else self._by_name
        return _Difference(
            can_run=moved(was.compatible, will.compatible),
            free=moved(was.eligible, will.eligible),
            fits_before=was.ever,
            fits_after=will.ever,
        )

    def _by_rank(self, before: int, after: int) -> Moved:
        ids = self._scenes[0].census.roster.ids

        def some(ranks: int) -> tuple[str, ...]:
            return tuple(ids[rank] for rank in islice(each(ranks), MOST_NAMED))

        gained, lost = less(after, before), less(before, after)
        return Moved(
            before=before.bit_count(), after=after.bit_count(), gained=gained.bit_count(), lost=lost.bit_count(),
            gained_examples=some(gained), lost_examples=some(lost),
        )  # fmt: skip

    def _by_name(self, before: int, after: int) -> Moved:
        was, will = (set(scene.named(bits)) for scene, bits in zip(self._scenes, (before, after), strict=True))
        gained, lost = sorted(will - was), sorted(was - will)
        return Moved(
            before=len(was), after=len(will), gained=len(gained), lost=len(lost),
            gained_examples=tuple(gained[:MOST_NAMED]), lost_examples=tuple(lost[:MOST_NAMED]),
        )  # fmt: skip


def _effect(found: _Difference, starts_before: bool, starts_after: bool) -> Effect | None:
    gains = found.can_run.gained or found.free.gained
    loses = found.can_run.lost or found.free.lost
    applies: dict[Effect, Callable[[], object]] = {
        Effect.NEVER_FITS: lambda: found.fits_before and not found.fits_after,
        Effect.NO_START: lambda: starts_before and not starts_after,
        Effect.FITS: lambda: found.fits_after and not found.fits_before,
        Effect.STARTS: lambda: starts_after and not starts_before,
        Effect.SHIFTS: lambda: gains and loses,
        Effect.LOSES: lambda: loses,
        Effect.GAINS: lambda: gains,
    }
    return next((effect for effect, holds in applies.items() if holds()), None)
