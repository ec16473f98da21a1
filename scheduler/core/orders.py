"""The policies over whole fleets: workers that could take a job, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush, heapreplace

from scheduler.core.bits import Left, Spot, by_block, each_in, groups_of, less, spot
from scheduler.core.board import Board
from scheduler.core.census import UNKNOWN, Census
from scheduler.core.device_board import Request

Blocks = Mapping[int, int]
"""A set of a few workers, by block."""
NOBODY: Blocks = {}
LAST = -(1 << 80)
"""Stands for an unknown amount: less than any."""
Heap = list[tuple[int, int]]
"""Pairs of an amount, negated, and a block: the one with the most first."""


class ById:
    """`first_fit`: ranks are in the order of ids."""

    def walk(self, left: Left, without: Blocks) -> Iterator[int]:
        """What is left without those, best first."""
        for block, bits in left.walk():
            yield from each_in(block, less(bits, without.get(block, 0)))


class ByMemory:
    """`most_free_memory`, of the devices that a request could be given, or of RAM where it asks for none.

    Within a block, workers with as much are held together. Every set that is walked has a heap of its blocks, by the
    most that one of its workers there has. That nearly always becomes less, and is put right only when its turn comes.
    """

    def __init__(self, board: Board, census: Census, request: Request | None) -> None:
        self._board = board
        self._census = census
        self._request = request
        self._seen = len(board.touched)
        if request is not None:
            self._amounts = list(map(_or_last, board.devices.memory_left_everywhere(request)))
        else:
            self._amounts = list(map(self._now, range(census.size)))
        self._alike = list(map(groups_of, by_block(self._amounts)))
        """By block and amount."""
        self._heaps: dict[Left, Heap] = {}

    def walk(self, left: Left, without: Blocks) -> Iterator[int]:
        """What is left without those, best first: most memory, unknown last, then by id."""
        self._catch_up()
        heap = self._heap(left)
        come_to: dict[int, int] = {}
        while heap:
            told, block = heap[0]
            bits = left.at(block)
            most = self._most(block, bits, come_to.get(block))
            if most is None:
                heappop(heap)
            elif most < -told:
                heapreplace(heap, (-most, block))
            else:
                yield from each_in(block, less(self._alike[block][most] & bits, without.get(block, 0)))
                heap = heap if come_to else heap.copy()  # what was walked is left all the same
                come_to[block] = most

    def _heap(self, left: Left) -> Heap:
        heap = self._heaps.get(left)
        if heap is None:
            found = [(self._most(block, bits, None), block) for block, bits in left.walk()]
            heap = [(-most, block) for most, block in found if most is not None]
            heapify(heap)
            self._heaps[left] = heap  # complete: another thread may walk it by now
        return heap

    def _most(self, block: int, bits: int, below: int | None) -> int | None:
        """The most that one of these workers has, or the most below that."""
        amounts = [amount for amount, alike in self._alike[block].items() if alike & bits]
        if below is not None:
            amounts = [amount for amount in amounts if amount < below]
        return max(amounts, default=None)

    def _now(self, rank: int) -> int:
        if self._request is not None:
            return _or_last(self._board.devices.memory_left(self._request, rank))
        return LAST if self._census.memory[rank] == UNKNOWN else self._board.memory.left[rank]

    def _catch_up(self) -> None:
        """Move the workers of which something was taken since."""
        for rank in self._board.touched[self._seen :]:
            old, new = self._amounts[rank], self._now(rank)
            if new != old:
                self._amounts[rank] = new
                self._move(spot(rank), old, new)
        self._seen = len(self._board.touched)

    def _move(self, where: Spot, old: int, new: int) -> None:
        alike = self._alike[where.block]
        alike[old] ^= where.bit
        if not alike[old]:
            del alike[old]
        alike[new] = alike.get(new, 0) | where.bit
        if new > old and not (self._request and where.bit & self._request.lacking.blocks[where.block]):
            # The devices of unknown memory are taken, and of those that are left it is known.
            for heap in self._heaps.values():
                heappush(heap, (-new, where.block))


def _or_last(amount: int | None) -> int:
    return LAST if amount is None else amount
