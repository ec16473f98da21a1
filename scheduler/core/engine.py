"""Passes over whole fleets: what depends only on a job's shape and a worker's class is found once for each pair.

The rule is `rule.decide`; everything here finds the same decisions by sets of workers instead of one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter, is_

from scheduler.core.bits import in_blocks
from scheduler.core.board import Board
from scheduler.core.census import Census
from scheduler.core.classes import Answers
from scheduler.core.decision import Assignment, SchedulingDecision
from scheduler.core.device_board import Request
from scheduler.core.devices import load_of
from scheduler.core.fleet import WorkerFacts, WorkerView
from scheduler.core.gang import Version
from scheduler.core.moments import Moment
from scheduler.core.orders import NOBODY, ById, ByMemory
from scheduler.core.questions import device_ask
from scheduler.core.shapes import Shape, shape_of
from scheduler.core.spec import Origin, Policy, QueueEntry
from scheduler.core.standings import Standing
from scheduler.core.tiers import Choice, avoided_workers, choose
from scheduler.core.windows import seen_at

_by_id = attrgetter("facts.id")
_facts = attrgetter("facts")


class Engine:
    """Begins passes, and keeps what one learns of classes of workers for the next. No answer depends on it."""

    def __init__(self, answers: Answers | None = None) -> None:
        self._answers = answers or Answers()
        self._census = Census((), self._answers)

    def beside(self) -> Engine:
        """Another one for another fleet, which knows of classes of workers what this one does, then and later."""
        return Engine(self._answers)

    def begin(self, workers: Iterable[WorkerView], at: datetime | None = None) -> Pass:
        """A pass over these workers, whose order doesn't matter; `at` is the instant from which it looks ahead."""
        views = sorted(seen_at(workers, at), key=_by_id)
        return Pass(views, self._census_of(list(map(_facts, views))))

    def _census_of(self, facts: Sequence[WorkerFacts]) -> Census:
        census = self._census
        if len(census.facts) != len(facts) or not all(map(is_, census.facts, facts)):
            if self._answers.are_many:
                self._answers = Answers()
            census = self._census = Census(facts, self._answers)
        return census


class Pass:
    """One pass: decides jobs in the order in which they are given; what one is given is gone for the next."""

    def __init__(self, views: Sequence[WorkerView], census: Census) -> None:
        self._census = census
        self._board = Board(views, census)
        self._shapes: dict[Hashable, Shape] = {}
        self._requests: dict[Hashable, Request] = {}
        self._orders: dict[Request | None, ById | ByMemory] = {}

    @property
    def census(self) -> Census:
        """The facts of the fleet."""
        return self._census

    @property
    def board(self) -> Board:
        """What is taken and what is left at this moment."""
        return self._board

    def stand(self, entry: QueueEntry) -> Standing:
        """How a job stands at this moment: decided, but given nothing."""
        shape = self._shape(entry)
        avoided = self._avoided(entry, shape)
        choice = self._choose(entry, shape, avoided)
        return Standing(entry=entry, shape=shape, avoided=avoided, epoch=self._board.epoch, choice=choice)

    def in_order(self, standing: Standing) -> Iterator[int]:
        """The workers that could take the job now, as long as nothing is given away: by tier, then as its policy says.

        Tiers that are closed have none.
        """
        for tier in standing.entry.spec.tiers:
            yield from self._walk(standing.entry, standing.shape, standing.avoided, tier)

    def decide(self, entry: QueueEntry) -> SchedulingDecision:
        """Decide one job, and hold what it is given."""
        standing = self.stand(entry)
        assignments = self._assigned(standing)
        if assignments:
            loads = [load_of(entry, task.devices) for task in assignments]
            self._board.place(list(zip(standing.choice.chosen, loads, strict=True)))
        return self._decided(standing, assignments)

    def decided(self, standing: Standing) -> SchedulingDecision:
        """What is decided of a job that stands so at this moment; nothing is given away."""
        return self._decided(standing, self._assigned(standing))

    def _decided(self, standing: Standing, assignments: tuple[Assignment, ...]) -> SchedulingDecision:
        entry, shape, choice = standing.entry, standing.shape, standing.choice
        return SchedulingDecision(
            job_id=entry.job_id,
            policy=entry.spec.policy,
            tiers=choice.tiers,
            assignments=assignments,
            group_reasons=choice.group_reasons,
            notes=shape.notes,
            ever_schedulable=shape.ever_schedulable,
            evidence=Moment(
                entry=entry, shape=shape, census=self._census, board=self._board, epoch=standing.epoch,
                avoided=standing.avoided, chosen=choice.chosen,
            ),
        )  # fmt: skip

    def _choose(self, entry: QueueEntry, shape: Shape, avoided: frozenset[str]) -> Choice[int]:
        def walk(tier: Origin) -> Iterator[tuple[int, Version]]:
            ranks = self._walk(entry, shape, avoided, tier)
            return ((rank, shape.torch[rank] if shape.torch else None) for rank in ranks)

        return choose(entry, shape.counts, shape.closed, walk)

    def _walk(self, entry: QueueEntry, shape: Shape, avoided: frozenset[str], tier: Origin) -> Iterator[int]:
        """The workers of a tier that could take the job now, best first."""
        without = in_blocks(shape.ranks_of(avoided)) if avoided else NOBODY
        return self._order(entry, shape).walk(shape.left(tier), without)

    def _assigned(self, standing: Standing) -> tuple[Assignment, ...]:
        """What it would be given: the lowest of what is left there."""
        ids, request, devices = self._census.roster.ids, standing.shape.request, self._board.devices
        return tuple(
            Assignment(worker=ids[rank], node_rank=node, devices=devices.pick(request, rank) if request else ())
            for node, rank in enumerate(standing.choice.chosen)
        )

    def _shape(self, entry: QueueEntry) -> Shape:
        claims = self._census.claims(entry)
        reach = self._board.reach(entry.spec.limit_s)
        key = shape_of(entry, claims, reach)
        shape = self._shapes.get(key)
        if shape is None:
            request = self._request(entry, claims, reach)
            shape = self._shapes[key] = Shape(entry, claims, self._census, self._board, request)
        return shape

    def _request(self, entry: QueueEntry, claims: frozenset[str], reach: int) -> Request | None:
        ask = device_ask(entry.spec)
        if ask is None:
            return None
        key = (ask, claims, reach, entry.spec.placement.reserved_only)
        request = self._requests.get(key)
        if request is None:
            request = self._requests[key] = self._board.devices.watch(entry)
        return request

    def _order(self, entry: QueueEntry, shape: Shape) -> ById | ByMemory:
        if entry.spec.policy is Policy.FIRST_FIT:
            return ById()
        if shape.request not in self._orders:
            self._orders[shape.request] = ByMemory(self._board, self._census, shape.request)
        return self._orders[shape.request]

    def _avoided(self, entry: QueueEntry, shape: Shape) -> frozenset[str]:
        if not entry.failed_on:
            return frozenset()
        fresh = shape.counts_without(shape.ranks_of(frozenset(entry.failed_on)))
        return avoided_workers(entry, fresh, shape.closed)
