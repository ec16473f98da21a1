"""A decision's evidence: one moment of a pass, from which its candidates are made when they are asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from scheduler.core.availability import Setting
from scheduler.core.bits import each, of_ranks
from scheduler.core.board import Board
from scheduler.core.causes import Split, read_by
from scheduler.core.census import Census
from scheduler.core.decision import Candidate, Parts, Verdict
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.policies import Key, policy_key
from scheduler.core.reasons import Code, Reason
from scheduler.core.rosters import Roster
from scheduler.core.shapes import Shape
from scheduler.core.spec import QueueEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One job's turn in a pass: what every worker held just before it, and what the job was given."""

    entry: QueueEntry
    shape: Shape
    census: Census
    board: Board
    epoch: int
    avoided: frozenset[str]
    chosen: tuple[int, ...]
    """Their ranks: a set of workers for each decision would grow with jobs times workers."""

    @property
    def roster(self) -> Roster:
        """Every worker of the fleet."""
        return self.census.roster

    def parts(self) -> Parts:
        """The workers by verdict and set of codes."""
        return self.shape.parts(self.epoch, self._avoided(), of_ranks(self.chosen, self.census.size))

    def candidates(self) -> tuple[Candidate, ...]:
        """One for every worker, sorted by id; workers of one class share their reasons."""
        made = {rank: self._able_candidate(rank, codes) for rank, codes in _spread(self._able())}
        for codes, workers in self.shape.incompatible.items():
            columns = [read_by(code, self.entry, self.census) for code in codes]
            known: dict[tuple[Hashable, ...], tuple[Reason, ...]] = {}
            for rank in each(workers):
                read = tuple([column[rank] for column in columns])
                if read not in known:
                    known[read] = compatibility_reasons(self.entry, self.board.views[rank], codes)
                made[rank] = Candidate(worker=self.census.roster.ids[rank], reasons=known[read])
        return tuple(made[rank] for rank in range(self.census.size))

    def candidate(self, worker: str) -> Candidate:
        """One worker's, by asking it only what is known to stand against it; KeyError where the fleet has no such."""
        rank = self.census.rank_of[worker]
        verdict, codes = next(part for part, workers in self.parts().items() if workers >> rank & 1)
        if verdict is Verdict.INCOMPATIBLE:
            return Candidate(worker=worker, reasons=compatibility_reasons(self.entry, self.board.views[rank], codes))
        return self._able_candidate(rank, codes)

    def _able_candidate(self, rank: int, codes: tuple[Code, ...]) -> Candidate:
        """A compatible worker's. Jobs of one shape are told the same of a worker until something is taken of it."""
        # A limit is told in figures, and jobs of one shape may have different ones.
        limit = (self.entry.spec.timeout_s, self.entry.spec.hold_s) if Code.RESERVED_FROM in codes else None
        state = (self.board.placed_before(rank, self.epoch), codes, self.avoided, limit)
        said = self.shape.said.get(rank)
        if said is None or said[0] != state:
            said = self.shape.said[rank] = (state, *self._said(rank, codes))
        return Candidate(
            worker=self.census.roster.ids[rank],
            reasons=said[1],
            selected=rank in self.chosen,
            key=said[2],
        )

    def _said(self, rank: int, codes: tuple[Code, ...]) -> tuple[tuple[Reason, ...], Key | None]:
        """The reasons against one compatible worker at this moment; if there are none, the policy's key instead."""
        view = self.board.view(rank, self.epoch)
        setting = Setting(closed=self.shape.closed, avoided=self.avoided)
        reasons = availability_reasons(self.entry, view, setting, codes)
        return reasons, None if reasons else policy_key(self.entry, view)

    def _able(self) -> Split:
        return self.shape.unavailable(self.epoch, self._avoided())

    def _avoided(self) -> int:
        return self.shape.ranks(self.avoided)


def _spread(split: Split) -> Iterator[tuple[int, tuple[Code, ...]]]:
    for codes, workers in split.items():
        for rank in each(workers):
            yield rank, codes
