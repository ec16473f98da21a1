"""What is taken and what is left while a pass goes on: it only shrinks, and every earlier moment can be told again.

The moments of a pass are its epochs: epoch n is the state after n jobs were placed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from scheduler.core.availability import free_cpu, free_disk, free_memory
from scheduler.core.bits import Growing, Spot, less, members, spot, where
from scheduler.core.census import UNKNOWN, Census
from scheduler.core.device_board import DeviceBoard, Mask
from scheduler.core.fleet import TaskLoad, WorkerFacts, WorkerView
from scheduler.core.matching import held_devices, window_in_the_way
from scheduler.core.spec import QueueEntry, Resources
from scheduler.core.windows import gap_before


class Freed(NamedTuple):
    """What the end of some tasks would leave free of their worker."""

    slots: int = 0
    cpu_millicores: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    devices: Mask = 0
    """Those that nothing else holds."""


NOTHING = Freed()


class Level:
    """How much of one thing each worker has left, and which workers have less than each amount that jobs ask for."""

    def __init__(self, left: list[int]) -> None:
        self.left = left
        self._asks: list[int] = []
        self._short: dict[int, Growing] = {}

    def short_of(self, asked: int) -> Growing:
        """The workers that have less left."""
        if asked not in self._short:
            insort(self._asks, asked)
            self._short[asked] = Growing(where(map(asked.__gt__, self.left)), len(self.left))
        return self._short[asked]

    def take(self, spot: Spot, amount: int) -> None:
        """Less is left of it on the worker at that spot."""
        if not amount:
            return
        before = self.left[spot.rank]
        after = self.left[spot.rank] = before - amount
        for asked in self._asks[bisect_right(self._asks, after) : bisect_right(self._asks, before)]:
            self._short[asked].add(*spot)


class Board:
    """The state of a fleet during one pass."""

    def __init__(self, views: Sequence[WorkerView], census: Census) -> None:
        self.views = views
        self.epoch = 0
        self.at = next((view.at for view in members(census.upcoming, views)), None)
        """From when upcoming reservations are looked at; the same for all workers that have one."""
        self.offline = census.everyone & ~where(map(attrgetter("online"), views))
        self.draining = where(map(attrgetter("draining"), views))
        self.unhealthy = where(map(attrgetter("unhealthy"), views))
        self.slots = Level(list(census.slots))
        self.cpu = Level(list(census.cpu))
        self.memory = Level(list(census.memory))
        self.disk = Level(list(census.disk))
        self.devices = DeviceBoard(census, self.at)
        self.touched: list[int] = []
        """The ranks of the workers of which something was taken, in order."""
        self._given: dict[int, list[tuple[int, TaskLoad]]] = {}
        for rank, view in enumerate(views):
            if view.tasks:
                self._seat(rank, view)
        self.full = self.slots.short_of(1)
        self._census = census
        self._gaps = self._gaps_ahead()

    def place(self, loads: Sequence[tuple[int, TaskLoad]]) -> None:
        """One job takes these, each from the worker of that rank; the next epoch begins."""
        for rank, load in loads:
            where_it_is = spot(rank, self.epoch)
            self.slots.take(where_it_is, 1)
            self.cpu.take(where_it_is, load.cpu_millicores)
            self.memory.take(where_it_is, load.memory_bytes)
            self.disk.take(where_it_is, load.disk_bytes)
            self.devices.take(where_it_is, load.devices)
            self.touched.append(rank)
            self._given.setdefault(rank, []).append((self.epoch, load))
        self.epoch += 1

    def reach(self, limit_s: int | None) -> int:
        """A number for the upcoming reservations that a job with this limit may run into: alike, if it is the same."""
        if not self._gaps:
            return 0
        return -1 if limit_s is None else bisect_left(self._gaps, limit_s)

    @property
    def gaps(self) -> Sequence[int]:
        """The whole seconds until reservations begin, each once, rising."""
        return self._gaps

    def left_before(self, entry: QueueEntry) -> int:
        """The workers that an upcoming reservation for somebody else keeps from the job as a whole."""
        if not self._gaps:
            return 0

        def is_so(facts: WorkerFacts) -> bool:
            return window_in_the_way(entry, WorkerView(facts=facts, at=self.at)) is not None

        return self._census.ahead(is_so)

    def not_kept_for(self, entry: QueueEntry, claims: frozenset[str]) -> int:
        """The workers that are no good to a job that waits for its own reservation; none of another job."""
        if not entry.spec.placement.reserved_only:
            return 0
        return less(self._census.everyone, self._census.kept_for(claims, devices=bool(entry.spec.resources.gpus)))

    def may_hold(self, asked: Resources, rank: int, freed: Freed = NOTHING) -> bool:
        """Whether enough of everything is left on one worker for a task, however suitable the devices."""
        return (
            self.slots.left[rank] + freed.slots > 0
            and _covers(self.cpu.left[rank] + freed.cpu_millicores, asked.cpu_millicores)
            and _covers(self.memory.left[rank] + freed.memory_bytes, asked.memory_bytes)
            and _covers(self.disk.left[rank] + freed.disk_bytes, asked.disk_bytes)
            and self.devices.left_on(rank, freed.devices).bit_count() >= asked.gpus
        )

    def view(self, rank: int, epoch: int) -> WorkerView:
        """One worker as it was at that moment."""
        loads = (load for placed_at, load in self._given.get(rank, ()) if placed_at < epoch)
        return self.views[rank].holding(*loads)

    def placed_before(self, rank: int, epoch: int) -> int:
        """How many tasks this pass had given one worker by that moment: as long as it is the same, so is the worker."""
        return bisect_left(self._given.get(rank, ()), epoch, key=itemgetter(0))

    def _gaps_ahead(self) -> list[int]:
        if self.at is None:
            return []
        ahead = members(self._census.upcoming, self._census.facts)
        return sorted({gap_before(window, self.at) for facts in ahead for window in facts.upcoming})

    def _seat(self, rank: int, view: WorkerView) -> None:
        """Count what tasks hold before the pass begins."""
        self.slots.left[rank] -= len(view.tasks)
        for level, left in ((self.cpu, free_cpu), (self.memory, free_memory), (self.disk, free_disk)):
            amount = left(view)
            level.left[rank] = UNKNOWN if amount is None else amount
        self.devices.seat(rank, held_devices(view))


def _covers(left: int, asked: int | None) -> bool:
    return asked is None or left >= asked
