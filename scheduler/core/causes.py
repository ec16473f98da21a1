"""Which workers each code stands against, as sets; and workers parted by all the codes that stand against them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from scheduler.core.bits import Growing
from scheduler.core.board import Board
from scheduler.core.census import Census
from scheduler.core.questions import QUESTIONS, READS
from scheduler.core.reasons import ORDER, Code
from scheduler.core.spec import QueueEntry

Causes = list[tuple[Code, int]]
"""The workers against which each code stands, in the order of the checks."""
Split = dict[tuple[Code, ...], int]
"""Workers by all the codes that stand against them; only sets that are not empty."""


def failing(entry: QueueEntry, claims: frozenset[str], census: Census) -> Causes:
    """Every capability check that some worker fails, and who; `claims` are those of the job's holders that matter."""
    causes = [(question.code, census.failing(question, entry)) for question in QUESTIONS]
    causes += _of_each_worker(entry, claims, census)
    return sorted(((code, bits) for code, bits in causes if bits), key=_place)


def levels(entry: QueueEntry, board: Board) -> list[tuple[Code, Growing]]:
    """The workers of which other tasks leave too little, as they become more during the pass."""
    asked = entry.spec.resources
    amounts = (
        (Code.SLOTS, board.slots, 1),
        (Code.CPU_IN_USE, board.cpu, asked.cpu_millicores),
        (Code.MEMORY_IN_USE, board.memory, asked.memory_bytes),
        (Code.DISK_IN_USE, board.disk, asked.disk_bytes),
    )
    return [(code, level.short_of(amount)) for code, level, amount in amounts if amount is not None]


def split(workers: int, causes: Iterable[tuple[Code, int]]) -> Split:
    """Part the workers by all the codes that stand against them, in order; by none, those that are free of any."""
    parts: Split = {(): workers} if workers else {}
    for code, against in sorted(causes, key=_place):
        for codes, part in list(parts.items()):
            hit = part & against
            if hit:
                parts[(*codes, code)] = hit
                parts[codes] = part ^ hit
                if part == hit:
                    del parts[codes]
    return parts


def read_by(code: Code, entry: QueueEntry, census: Census) -> Sequence[Hashable]:
    """What the check of this code reads of each worker, by rank: where it is the same, so are the reason's figures."""
    match code:
        case Code.NOT_PINNED:
            return [None] * census.size
        case Code.LABEL:
            keys = [key for key, _ in entry.spec.placement.worker_labels]
            return [tuple(map(dict(facts.labels).get, keys)) for facts in census.facts]
        case Code.CPU_CORES | Code.DIST_PROCS:
            return census.cpu
        case Code.MEMORY:
            return census.memory
        case Code.DISK:
            return census.disk
        case _:
            return census.numbers(READS[code])


def _of_each_worker(entry: QueueEntry, claims: frozenset[str], census: Census) -> Iterator[tuple[Code, int]]:
    """The checks that ask for a worker's own name, labels, reservation and sizes."""
    placement, asked = entry.spec.placement, entry.spec.resources
    if placement.worker_ids:
        yield Code.NOT_PINNED, census.not_among(placement.worker_ids)
    unlike = 0
    for key, value in placement.worker_labels:
        unlike |= census.without_label(key, value)
    yield Code.LABEL, unlike
    yield Code.RESERVED, census.reserved(claims, ends=False)
    gang = entry.spec.distributed
    for code, totals, amount in (
        (Code.CPU_CORES, census.cpu, asked.cpu_millicores),
        (Code.MEMORY, census.memory, asked.memory_bytes),
        (Code.DISK, census.disk, asked.disk_bytes),
        (Code.DIST_PROCS, census.cpu, gang.procs_per_worker * 1000 if gang else None),
    ):
        if amount is not None:
            yield code, census.short_of(totals, amount)


def _place(cause: tuple[Code, int]) -> int:
    return ORDER[cause[0]]
