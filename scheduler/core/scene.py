"""One job against the fleet that its decision was made on, to be asked what if the job asked for something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property

from scheduler.core.bits import first, less, members, of_ranks
from scheduler.core.board import Board
from scheduler.core.causes import failing
from scheduler.core.census import Census
from scheduler.core.decision import Parts, SchedulingDecision
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, WorkerFacts, WorkerView
from scheduler.core.questions import Reads
from scheduler.core.spec import JobSpec, QueueEntry
from scheduler.core.standings import Standing


class Scene:
    """Nothing is given away here, so every answer speaks of the same moment: the job's turn in its pass.

    Sets of workers are whole numbers, as in `bits`. The fleet is the one that the decision saw, less what the jobs
    before it were given.
    """

    def __init__(self, entry: QueueEntry, fleet: Fleet | Iterable[WorkerView], *, engine: Engine | None = None) -> None:
        self.entry = entry
        self._pass = (engine or Engine()).begin(fleet.workers if isinstance(fleet, Fleet) else fleet)

    def beside(self, entry: QueueEntry) -> Scene:
        """Another job at the same moment."""
        other = copy(self)
        other.entry = entry
        other.__dict__.pop("standing", None)
        return other

    @property
    def census(self) -> Census:
        """The facts of the fleet."""
        return self._pass.census

    @property
    def board(self) -> Board:
        """State and load of the fleet."""
        return self._pass.board

    @cached_property
    def standing(self) -> Standing:
        """The job as it is."""
        return self._pass.stand(self.entry)

    def decided(self) -> SchedulingDecision:
        """The decision about the job as it is."""
        return self._pass.decided(self.standing)

    def asking(self, spec: JobSpec) -> QueueEntry:
        """The same job with another spec."""
        entry = self.entry
        return QueueEntry(
            job_id=entry.job_id, spec=spec, submitted_at=entry.submitted_at, holders=entry.holders,
            failed_on=entry.failed_on,
        )  # fmt: skip

    def stand(self, spec: JobSpec) -> Standing:
        """How the job would stand with this spec."""
        return self._pass.stand(self.asking(spec))

    def compatible(self, spec: JobSpec) -> int:
        """The workers that could ever run it with this spec; cheaper than `stand`."""
        return self.compatible_with(self.asking(spec))

    def compatible_with(self, entry: QueueEntry) -> int:
        """The workers that could ever run another job."""
        able = self.census.everyone
        for _, against in failing(entry, self.census.claims(entry), self.census):
            able = less(able, against)
        return able

    def parts(self) -> Parts:
        """The workers by verdict and by all the codes that stand against them, nobody chosen yet."""
        standing = self.standing
        return standing.shape.parts(self.board.epoch, standing.shape.ranks(standing.avoided), 0)

    def in_order(self, standing: Standing) -> Iterator[str]:
        """The workers that could take it now, best first."""
        ids = self.census.roster.ids
        return (ids[rank] for rank in self._pass.in_order(standing))

    def named(self, workers: int) -> tuple[str, ...]:
        """The ids of a set."""
        return members(workers, self.census.roster.ids)

    def ranked(self, ids: Iterable[str]) -> int:
        """The set of these ids, as far as the fleet has them."""
        rank_of = self.census.rank_of
        return of_ranks((rank_of[worker] for worker in ids if worker in rank_of), self.census.size)

    def views(self, workers: int) -> tuple[WorkerView, ...]:
        """The views of a set."""
        return members(workers, self.board.views)

    def view(self, worker: str) -> WorkerView:
        """One worker's; KeyError where the fleet has no such worker."""
        return self.board.views[self.census.rank_of[worker]]

    def samples(self, reads: Reads, workers: int) -> list[WorkerFacts]:
        """One worker of the set for each class of facts in it that read alike."""
        return [
            self.census.facts[first(found)]
            for alike in self.census.classes(reads).values()
            if (found := alike & workers)
        ]

    def amounts(self, of: Sequence[int], workers: int) -> list[int]:
        """The different amounts that the workers of a set have of something, the most first; unknown ones left out."""
        return sorted({amount for amount in members(workers, of) if amount >= 0}, reverse=True)
