"""Jobs that don't start on a fleet, decided anew on fleets that are better in places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.core.board import Board
from scheduler.core.census import Census
from scheduler.core.engine import Engine
from scheduler.core.fleet import WorkerView
from scheduler.core.spec import QueueEntry


@dataclass(frozen=True, slots=True)
class Turn:
    """One job of the queue, and the number of its kind: jobs of one kind are decided alike at the same moment."""

    entry: QueueEntry
    kind: int


def turns(entries: Iterable[QueueEntry], *fleets: Census) -> list[Turn]:
    """The jobs in their order; kinds are numbered from 0 as they come, and hold on every fleet reserved like these."""
    timed = any(census.upcoming for census in fleets)
    kinds: dict[Hashable, int] = {}
    found = []
    for entry in entries:
        limit = entry.spec.timeout_s if timed else None
        spec = replace(entry.spec, name="", command=(), workdir=None, env=(), secrets=(), timeout_s=limit)
        key = (spec, entry.holders, entry.failed_on, *(census.claims(entry) for census in fleets))
        found.append(Turn(entry, kinds.setdefault(key, len(kinds))))
    return found


def starting(
    queue: Iterable[Turn], fleet: Iterable[WorkerView], engine: Engine, *, better: Iterable[str] = ()
) -> list[str]:
    """The jobs that start on this fleet, in order; what one is given is gone for those behind it.

    `better` are the only workers that are better than where none of these jobs starts, if they are few.

    A job that doesn't start leaves everything as it was, and less and less is free: so once a job has not started, no
    other one of its kind will.
    """
    one_pass = engine.begin(fleet)
    ranks = [one_pass.census.rank_of[worker] for worker in better]
    hopeless: set[int] = set()
    started = []
    for turn in queue:
        if turn.kind in hopeless:
            continue
        if _may_start(turn.entry, one_pass.board, ranks) and one_pass.decide(turn.entry).assignments:
            started.append(turn.entry.job_id)
        else:
            hopeless.add(turn.kind)
    return started


def _may_start(entry: QueueEntry, board: Board, ranks: Sequence[int]) -> bool:
    return not ranks or any(board.may_hold(entry.spec.resources, rank) for rank in ranks)
