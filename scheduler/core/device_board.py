"""Which devices are held during a pass, and which workers have too few left for each kind of request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

from scheduler.core.availability import charges
from scheduler.core.bits import Growing, each
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

    __slots__ = ("causes", "count", "held", "lacking", "usable")

    def __init__(self, count: int) -> None:
        self.count = count
        self.usable: dict[int, Mask] = {}
        """By condition: the qualifying devices that only a task can keep from it."""
        self.lacking = Growing(0)
        """The workers on which too few of those are left."""
        self.held = Growing(0)
        """The workers on which a task holds one of those."""
        self.causes: dict[Code, int] = {}
        """The workers on which something else keeps a qualifying device from it, by what that is."""


class DeviceBoard:
    """The devices that tasks hold, of every worker."""

    def __init__(self, census: Census, at: datetime | None) -> None:
        self._census, self._at = census, at
        self._conditions = census.conditions
        self._held: list[Mask] = [0] * census.size
        self._seated: list[int] = []
        self._watchers: dict[int, dict[Mask, list[Request]]] = {}
        self._memory: dict[tuple[int, Mask], int | None] = {}
        self._all: dict[int, Mask] = {}

    def seat(self, rank: int, devices: Iterable[int]) -> None:
        """Tasks hold these before the pass begins."""
        self._held[rank] = mask_of(devices)
        if self._held[rank]:
            self._seated.append(rank)

    @cached_property
    def alike(self) -> dict[State, int]:
        """The workers whose devices are in the same condition and held alike."""
        alike = {(condition, 0): members for condition, members in self._census.classes(condition_of).items()}
        for rank in self._seated:
            condition, held = self._conditions[rank], self._held[rank]
            _move(alike, 1 << rank, (condition, 0), (condition, held))
        return alike

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
        for (condition, held), members in self.alike.items():
            usable = request.usable[condition]
            if (usable & ~held).bit_count() < request.count:
                request.lacking.bits |= members
            if usable & held:
                request.held.bits |= members
        return request

    def take(self, rank: int, bit: int, devices: Iterable[int], epoch: int) -> None:
        """One more task holds these of one worker; `bit` is the set of it alone."""
        alike = self.alike
        mask, before, condition = mask_of(devices), self._held[rank], self._conditions[rank]
        if not mask:
            return
        after = self._held[rank] = before | mask
        _move(alike, bit, (condition, before), (condition, after))
        for usable, requests in self._watchers.get(condition, {}).items():
            had, has = (usable & ~before).bit_count(), (usable & ~after).bit_count()
            if had == has:
                continue
            for request in requests:
                if not usable & before:
                    request.held.add(rank, bit, epoch)
                if has < request.count <= had:
                    request.lacking.add(rank, bit, epoch)

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
        known = {state: self._memory_in(request, state) for state in self.alike}
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


def _move(alike: dict[State, int], bit: int, old: State, new: State) -> None:
    alike[old] ^= bit
    if not alike[old]:
        del alike[old]
    alike[new] = alike.get(new, 0) | bit
