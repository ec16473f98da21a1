"""What pages of one decision's candidates need again and again, remembered by this process for a while."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

from scheduler.core.fleet import WorkerView
from scheduler.core.matrix import Matrix, matrix
from scheduler.core.pickings import in_targets
from scheduler.core.scene import Scene
from scheduler.core.why_not import WhyNot, why_not
from scheduler.core.words import Clock
from scheduler.memory import once, remembered, trim
from scheduler.services.recorded import Recorded

MOST_GROUPINGS = 8
MOST_READ = 8
"""Each takes some megabytes at 10,000 workers, most of them shared with the decision itself."""

_readings: OrderedDict[int, Reading] = remembered(OrderedDict())


class Reading:
    """One decision, being read: it never changes, so what was found of it once holds."""

    def __init__(self, kept: Recorded) -> None:
        self.kept = kept
        self._counted: OrderedDict[str, Matrix] = OrderedDict()

    @property
    def scene(self) -> Scene:
        """The job at its turn in the pass."""
        return self.kept.scene

    @cached_property
    def in_targets(self) -> int:
        """The workers in the job's targets."""
        return in_targets(self.scene)

    @property
    def inside(self) -> int:
        """The workers that tables count: those in the targets, or all where none is."""
        return self.in_targets or self.scene.census.everyone

    def checks_by(self, grouping: str) -> Matrix:
        """Every check against the workers in the targets, by groups of them."""

        def make() -> Matrix:
            return matrix(self.scene, grouping=grouping, within=self.inside)

        return once(self._counted, grouping, MOST_GROUPINGS, make)

    def each(self, clock: Clock) -> tuple[WhyNot, ...]:
        """Every check on every worker, by id: for a handful of them."""
        entry, decision = self.kept.entry, self.kept.decision
        return tuple(
            why_not(entry, view, decision.candidate(worker), clock=clock, edits=False)
            for worker, view in sorted(self.views.items())
        )

    @cached_property
    def views(self) -> dict[str, WorkerView]:
        """Every worker as the pass saw it."""
        return {view.id: view for view in self.kept.fleet.workers}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The ranks of those that could be given the job now: the chosen first, then as its policy says."""
        rank_of = self.scene.census.rank_of
        chosen = [rank_of[task.worker] for task in self.kept.decision.assignments]
        able = (rank_of[worker] for worker in self.scene.in_order(self.scene.standing))
        return tuple(dict.fromkeys((*chosen, *able)))

    @cached_property
    def places(self) -> dict[int, int]:
        """Rank -> place in that order, from 1."""
        return {rank: place for place, rank in enumerate(self.order, 1)}


def reading_of(kept: Recorded) -> Reading:
    """The reading of this decision, as it lies in memory: what others see of it is another."""
    key = id(kept.decision)
    found = _readings.get(key)
    if found is None or found.kept.decision is not kept.decision:
        found = _readings[key] = Reading(kept)
        trim(_readings, MOST_READ)
    return found
