"""Which devices are held during a pass, and which workers have too few left for each kind of request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from scheduler.core.availability import charges
from scheduler.core.bits import Growing, Spot, each, less, of_ranks
from scheduler.core.census import Census
from scheduler.core.fleet import WorkerView
from scheduler.core.matching import qualifying
from scheduler.core.policies import memory_of
from scheduler.core.questions import condition_of
from scheduler.core.reasons import Code
from scheduler.core.spec import QueueEntry

Mask = int
"""A set of device indices of one worker: bit i stands for index i."""
State = tuple[int, Mask]
"""The condition of a worker's devices, and which of them tasks hold."""


class Request:
    """One kind of request for devices: what it could be given in each condition, and who has too few of it left."""

    __slots__ = ("_held", "_short_at_first", "causes", "count", "lacking", "usable")

    def __init__(self, count: int) -> None:
        self.count = count
        self.usable: dict[int, Mask] = {}
        """By condition: the qualifying devices that only a task can keep from it."""
        self.causes: dict[Code, int] = {}
        """The workers on which something else keeps a qualifying device from it, by what that is."""

    def begin(self, alike: Mapping[State, int], size: int) -> None:
        """Find who has too few left; from now on `take` keeps account of it."""
        lacking = held = 0
        for (condition, taken), members in alike.items():
            usable = self.usable[condition]
            if (usable & ~taken).bit_count() < self.count:
                lacking |= members
                if usable & taken:
                    held |= members
        self.lacking = Growing(lacking, size)
        """The workers on which too few of those are left."""
        self._short_at_first = lacking
        """Of them, those that came in here; on all that come in later, a task holds one."""
        self._held = Growing(held, size)
        """Of those, the workers on which a task holds one."""

    def take(self, spot: Spot, had: int, has: int, *, first: bool) -> None:
        """So many were left on a worker and are left now; `first`: no task held any before."""
        if had >= self.count > has:
            self.lacking.add(*spot)
        elif first and had < self.count:
            self._held.add(*spot)

    def in_use(self, epoch: int) -> int:
        """The workers on which, at that moment, too few are left and a task holds one."""
        return less(self.lacking.before(epoch), self._short_at_first) | self._held.before(epoch)


class DeviceBoard:
    """The devices that tasks hold, of every worker."""

    def __init__(self, census: Census, at: datetime | None) -> None:
        self._census, self._at = census, at
        self._conditions = census.conditions
        self._held: list[Mask] = [0] * census.size
        self._alike = {(condition, 0): members for condition, members in census.classes(condition_of).items()}
        self._moved: set[int] = set()
        """The ranks of those that are held otherwise than that says."""
        self._watchers: dict[int, dict[Mask, list[Request]]] = {}
        self._memory: dict[tuple[int, Mask], int | None] = {}
        self._all: dict[int, Mask] = {}

    def seat(self, rank: int, devices: Iterable[int]) -> None:
        """Tasks hold these before the pass begins."""
        self._held[rank] = mask_of(devices)
        if self._held[rank]:
            self._moved.add(rank)

    def alike(self) -> Mapping[State, int]:
        """The workers whose devices are in the same condition and held alike."""
        moved = tuple(self._moved)  # another thread may ask the same
        if moved:
            everywhere = of_ranks(moved, self._census.size)
            alike = {state: less(members, everywhere) for state, members in self._alike.items()}
            now: dict[State, list[int]] = {}
            for rank in moved:
                now.setdefault((self._conditions[rank], self._held[rank]), []).append(rank)
            for state, ranks in now.items():
                alike[state] = alike.get(state, 0) | of_ranks(ranks, self._census.size)
            self._alike = {state: members for state, members in alike.items() if members}
            self._moved.clear()
        return self._alike

    def watch(self, entry: QueueEntry) -> Request:
        """Begin to keep account for a kind of request, of which this job is one."""
        request = Request(entry.spec.resources.gpus)
        for condition, members in self._census.classes(condition_of).items():
            worker = WorkerView(facts=self._census.samples[condition], at=self._at)
            usable = mask_of(device.index for device in qualifying(entry.spec, worker.facts))
            for code, charged in charges(entry, worker).items():
                if charged:
                    usable &= ~mask_of(device.index for device in charged)
                    request.causes[code] = request.causes.get(code, 0) | members
            request.usable[condition] = usable
            self._watchers.setdefault(condition, {}).setdefault(usable, []).append(request)
        request.begin(self.alike(), self._census.size)
        return request

    def take(self, spot: Spot, devices: Iterable[int]) -> None:
        """One more task holds these of the worker at that spot."""
        rank = spot.rank
        mask, before, condition = mask_of(devices), self._held[rank], self._conditions[rank]
        if not mask:
            return
        after = self._held[rank] = before | mask
        self._moved.add(rank)
        for usable, requests in self._watchers.get(condition, {}).items():
            had, has = (usable & ~before).bit_count(), (usable & ~after).bit_count()
            if had != has:
                first = not usable & before
                for request in requests:
                    request.take(spot, had, has, first=first)

    def left_on(self, rank: int, freed: Mask = 0) -> Mask:
        """The devices of one worker that no task holds, if these were free."""
        condition = self._conditions[rank]
        if condition not in self._all:
            self._all[condition] = mask_of(device.index for device in self._census.samples[condition].devices or ())
        return self._all[condition] & ~(self._held[rank] & ~freed)

    def has_enough(self, request: Request, rank: int, freed: Mask = 0) -> bool:
        """Whether enough devices are left there for the request, if these were free."""
        usable = request.usable[self._conditions[rank]]
        return (usable & self.left_on(rank, freed)).bit_count() >= request.count

    def pick(self, request: Request, rank: int) -> tuple[int, ...]:
        """The lowest indices of what is left there for the request."""
        left = each(request.usable[self._conditions[rank]] & ~self._held[rank])
        return tuple(index for _, index in zip(range(request.count), left, strict=False))

    def memory_left(self, request: Request, rank: int) -> int | None:
        """Bytes that the devices left there for the request have in all; None where one is unknown."""
        return self._memory_in(request, (self._conditions[rank], self._held[rank]))

    def memory_left_everywhere(self, request: Request) -> list[int | None]:
        """The same of every worker, by rank."""
        known = {state: self._memory_in(request, state) for state in self.alike()}
        return [known[state] for state in zip(self._conditions, self._held, strict=True)]

    def _memory_in(self, request: Request, state: State) -> int | None:
        condition, held = state
        left = request.usable[condition] & ~held
        if (condition, left) not in self._memory:
            devices = self._census.samples[condition].devices or ()
            self._memory[condition, left] = memory_of(device for device in devices if left >> device.index & 1)
        return self._memory[condition, left]


def mask_of(indices: Iterable[int]) -> Mask:
    """The set of these indices."""
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask
