"""What the facts of a fleet say, indexed: which workers fail which check, found once for each class of worker.

A census holds as long as the facts do; what tasks take and how workers fare from minute to minute is the board's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import attrgetter, or_

from scheduler.core.availability import slots_of
from scheduler.core.bits import each, groups_of, of_ranks, where
from scheduler.core.builds import frameworks_asked
from scheduler.core.capability_matrix import anything_newer, newer_than_the_table
from scheduler.core.capability_software import torch_of
from scheduler.core.classes import MOST_ANSWERS, Answers
from scheduler.core.fleet import WorkerFacts, WorkerView
from scheduler.core.gang import Version
from scheduler.core.matching import holders_of, in_full
from scheduler.core.notes import Names
from scheduler.core.questions import (
    TOLD_APART_BY,
    Question,
    Reads,
    condition_of,
    environments_of,
    equipment_of,
    reservation_of,
    upcoming_of,
)
from scheduler.core.rosters import Roster
from scheduler.core.spec import JobSpec, Origin, QueueEntry

UNKNOWN = -1
"""Stands for an unknown amount: less than any that is asked for."""
MOST_ENVIRONMENTS = 50


class Census:
    """The facts of every worker, sorted by id, and what follows from them alone."""

    def __init__(self, facts: Sequence[WorkerFacts], answers: Answers) -> None:
        self.facts = tuple(facts)
        self.roster = Roster(worker.id for worker in facts)
        self.size = len(self.facts)
        self.everyone = (1 << self.size) - 1
        self.names = Names(self.facts)
        self.cpu = [_known(total) for total in map(attrgetter("cpu_millicores"), facts)]
        self.memory = [_known(total) for total in map(attrgetter("memory_bytes"), facts)]
        self.disk = [_known(total) for total in map(attrgetter("disk_bytes"), facts)]
        self._answers = answers
        self._numbers: dict[Reads, list[int]] = {}
        self._members: dict[Reads, dict[int, int]] = {}
        self._memo: dict[Hashable, int] = {}
        self._torch: dict[str, list[Version]] = {}
        self._versions: dict[str, dict[Version, int]] = {}

    @cached_property
    def rank_of(self) -> dict[str, int]:
        """Each worker's place in the fleet sorted by id."""
        return {worker: rank for rank, worker in enumerate(self.roster.ids)}

    def failing(self, question: Question, entry: QueueEntry) -> int:
        """The workers that fail a check, as far as the job asks it."""
        ask = question.asks(entry)
        if ask is None:
            return 0

        def find() -> int:
            failing = 0
            for number, members in self.classes(question.reads).items():
                if self._answers.fails(question, ask, entry, number):
                    failing |= members
            return failing

        return self._once((question.code, ask), find)

    def newer(self, spec: JobSpec, workers: int) -> Iterator[str]:
        """What of these workers the table of supported combinations doesn't know yet, as far as the job asks it."""
        needs = frameworks_asked(spec)
        if not needs:
            return
        samples = self._answers.classes(equipment_of).samples
        classes = self.classes(equipment_of).items()

        def find() -> int:
            newer = [members for number, members in classes if anything_newer(spec, samples[number])]
            return reduce(or_, newer, 0)

        workers &= self._once(("newer", spec.runtime.environment, needs), find)
        for number, members in classes if workers else ():
            if members & workers:
                yield from newer_than_the_table(spec, samples[number])

    def not_among(self, ids: tuple[str, ...]) -> int:
        """The workers that a pin leaves out."""
        ranks = self.rank_of
        return self._once(("pin", ids), lambda: self.everyone & ~of_ranks(_ranks(ids, ranks), self.size))

    def without_label(self, key: str, value: str) -> int:
        """The workers that don't carry this value of the label."""
        pair = (key, value)
        return self._once(("label", pair), lambda: where(pair not in facts.labels for facts in self.facts))

    def short_of(self, totals: list[int], asked: int) -> int:
        """The workers that have less of something in all, or don't say; `totals` is `cpu`, `memory` or `disk`."""
        return self._once((id(totals), asked), lambda: where(map(asked.__gt__, totals)))

    def reserved(self, holders: frozenset[str], *, ends: bool) -> int:
        """The workers set aside for somebody who is none of these, with an end or without."""

        def is_so(facts: WorkerFacts) -> bool:
            held_for = facts.reserved_for and in_full(facts.reserved_for)
            return bool(held_for) and held_for not in holders and (facts.reserved_until is not None) is ends

        return self._once(("reserved", holders, ends), lambda: self._those(reservation_of, is_so))

    def kept_for(self, holders: frozenset[str], *, devices: bool) -> int:
        """The workers set aside for one of these; `devices`: or of which a device is."""

        def worker_is(facts: WorkerFacts) -> bool:
            return facts.reserved_for is not None and in_full(facts.reserved_for) in holders

        def device_is(facts: WorkerFacts) -> bool:
            held_for = (device.reserved_for for device in facts.devices or ())
            return any(one is not None and in_full(one) in holders for one in held_for)

        def find() -> int:
            whole = self._those(reservation_of, worker_is)
            return whole | self._those(condition_of, device_is) if devices else whole

        return self._once(("kept", holders, devices), find)

    def ahead(self, is_so: Callable[[WorkerFacts], bool]) -> int:
        """The workers of whose upcoming reservations, as far as they are of a whole worker, this is so."""
        return self._those(upcoming_of, is_so)

    def _those(self, reads: Reads, is_so: Callable[[WorkerFacts], bool]) -> int:
        """The workers of which this is so; `is_so` looks at nothing but what `reads` reads."""
        samples = self._answers.classes(reads).samples
        found = 0
        for number, members in self.classes(reads).items():
            if is_so(samples[number]):
                found |= members
        return found

    def claims(self, entry: QueueEntry) -> frozenset[str]:
        """Those of the job's holders for whom something in the fleet is reserved."""
        return holders_of(entry) & self._reserving if self._reserving else self._reserving

    @cached_property
    def upcoming(self) -> int:
        """The workers of which reservations are to begin."""
        return where(map(bool, map(attrgetter("upcoming"), self.facts)))

    @cached_property
    def origins(self) -> dict[Origin, int]:
        """The workers of each origin that there is."""
        return groups_of(facts.origin for facts in self.facts)

    def torch(self, environment: str) -> list[Version]:
        """Each worker's torch version in the environment of that name."""
        if environment not in self._torch:
            if len(self._torch) >= MOST_ENVIRONMENTS:
                self._torch.clear()
            samples = self._answers.classes(environments_of).samples
            numbers = self.numbers(environments_of)
            found = {number: torch_of(samples[number], environment) for number in set(numbers)}
            self._torch[environment] = [found[number] for number in numbers]
        return self._torch[environment]

    def versions(self, environment: str) -> dict[Version, int]:
        """The workers of each torch version in the environment of that name."""
        if environment not in self._versions:
            if len(self._versions) >= MOST_ENVIRONMENTS:
                self._versions.clear()
            self._versions[environment] = groups_of(self.torch(environment))
        return self._versions[environment]

    @cached_property
    def slots(self) -> list[int]:
        """How many tasks each worker takes at once."""
        told = map(attrgetter("max_concurrent_tasks"), self.facts)
        default = {condition: self._default_slots(condition) for condition in set(self.conditions)}
        return [
            default[condition] if slots is None else slots
            for condition, slots in zip(self.conditions, told, strict=True)
        ]

    @property
    def conditions(self) -> list[int]:
        """For each worker, the number of the condition its devices are in."""
        return self.numbers(condition_of)

    @property
    def samples(self) -> Mapping[int, WorkerFacts]:
        """For each condition, a worker whose devices are in it."""
        return self._answers.classes(condition_of).samples

    @cached_property
    def _reserving(self) -> frozenset[str]:
        """Everyone for whom a worker or a device is set aside."""
        workers = (self._answers.classes(reservation_of).samples[number] for number in self.classes(reservation_of))
        devices = (
            device for condition in self.classes(condition_of) for device in self.samples[condition].devices or ()
        )
        held_for = (
            *(worker.reserved_for for worker in workers),
            *(device.reserved_for for device in devices),
            *(window.holder for rank in each(self.upcoming) for window in self.facts[rank].upcoming),
        )
        return frozenset(in_full(holder) for holder in held_for if holder is not None)

    def classes(self, reads: Reads) -> dict[int, int]:
        """The members of each class of workers whose facts read alike."""
        if reads not in self._members:
            self._members[reads] = groups_of(self.numbers(reads))
        return self._members[reads]

    def sample(self, reads: Reads, number: int) -> WorkerFacts:
        """Facts that stand for all of a class."""
        return self._answers.classes(reads).samples[number]

    def numbers(self, reads: Reads) -> list[int]:
        """For each worker, the number of its class."""
        if reads not in self._numbers:
            classes = self._answers.classes(reads)
            told = self._told_apart(reads) if reads in TOLD_APART_BY else None
            if told is None:
                self._numbers[reads] = [classes.number(facts) for facts in self.facts]
            else:
                samples = dict(zip(told, self.facts, strict=True))
                known = {apart: classes.number(facts) for apart, facts in samples.items()}
                self._numbers[reads] = [known[apart] for apart in told]
        return self._numbers[reads]

    def _told_apart(self, reads: Reads) -> list[tuple[Hashable, ...]]:
        """For each worker, a few values that are alike where its facts read alike in this way."""
        facts, ways = TOLD_APART_BY[reads]
        return list(zip(*(map(fact, self.facts) for fact in facts), *map(self.numbers, ways), strict=True))

    def _default_slots(self, condition: int) -> int:
        return slots_of(WorkerView(facts=replace(self.samples[condition], max_concurrent_tasks=None)))

    def _once(self, key: Hashable, find: Callable[[], int]) -> int:
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= MOST_ANSWERS:
                self._memo.clear()
            found = self._memo[key] = find()
        return found


def _known(total: int | None) -> int:
    return UNKNOWN if total is None else total


def _ranks(ids: tuple[str, ...], rank_of: dict[str, int]) -> list[int]:
    return [rank_of[worker] for worker in ids if worker in rank_of]
