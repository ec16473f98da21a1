"""Sets of workers as whole numbers: bit r stands for the worker of rank r in the fleet sorted by id.

Such a set is immutable, takes an eighth of a byte a worker, and is joined with another in a few microseconds at most.
That still is too long to be done for every job of a queue that grows with the fleet: what changes while a pass goes on
is held in blocks of so many ranks, of which a job looks at no more than it must.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import compress, count
from typing import NamedTuple, TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

FEW = 16
"""Up to so many ranks are found one by one; of more it is faster to look at every place."""
BLOCK = 1024
"""Ranks in a block, a multiple of 8: the fewer, the sooner one is changed; the more, the fewer are to be passed by."""

_DIGITS = bytes.maketrans(b"\0\1", b"01")
_FLAGS = bytes.maketrans(b"01", b"\0\1")


def where(flags: Iterable[bool]) -> int:
    """The set of the ranks at which a flag is raised."""
    return int(bytes(flags).translate(_DIGITS)[::-1] or b"0", 2)


def of_ranks(ranks: Iterable[int], size: int) -> int:
    """The set of these ranks, all below `size`."""
    flags = bytearray(size)
    for rank in ranks:
        flags[rank] = 1
    return int(flags.translate(_DIGITS)[::-1] or b"0", 2)


def groups_of(values: Iterable[H]) -> dict[H, int]:
    """For each value, the set of the ranks at which it stands."""
    ranks: dict[H, list[int]] = {}
    for rank, value in enumerate(values):
        ranks.setdefault(value, []).append(rank)
    return {value: of_ranks(found, found[-1] + 1) for value, found in ranks.items()}


def each(bits: int) -> Iterator[int]:
    """The ranks in a set, lowest first."""
    if bits.bit_count() > FEW:
        yield from compress(count(), f"{bits:b}"[::-1].encode().translate(_FLAGS))
        return
    while bits:
        below = bits - 1
        yield (bits ^ below).bit_length() - 1
        bits &= below


def first(bits: int) -> int:
    """The lowest rank in a set that is not empty."""
    return (bits ^ (bits - 1)).bit_length() - 1


def less(bits: int, others: int) -> int:
    """The set without those others; `bits & ~others` is the same, and takes Python several times as long."""
    return bits ^ (bits & others)


def members(bits: int, of: Sequence[T]) -> tuple[T, ...]:
    """What stands at the ranks in a set, in order."""
    return tuple(compress(of, f"{bits:b}"[::-1].encode().translate(_FLAGS)))


def blocks_of(bits: int, size: int) -> list[int]:
    """The set in blocks of ranks, each a set of places within its block; `size` is that of the fleet."""
    step = BLOCK // 8
    whole = bits.to_bytes(-(-size // BLOCK) * step, "little")
    return [int.from_bytes(whole[start : start + step], "little") for start in range(0, len(whole), step)]


def joined(blocks: Iterable[int]) -> int:
    """The set that was parted into these blocks."""
    step = BLOCK // 8
    return int.from_bytes(b"".join([block.to_bytes(step, "little") for block in blocks]), "little")


class Spot(NamedTuple):
    """Where something happens to one worker in a pass, and when; made once for all the sets that it comes into."""

    rank: int
    block: int
    """The number of the block that the rank is in."""
    bit: int
    """The set of it alone within its block."""
    epoch: int


def spot(rank: int, epoch: int = 0) -> Spot:
    """That of a rank at a moment."""
    return Spot(rank, rank // BLOCK, 1 << rank % BLOCK, epoch)


def each_in(block: int, bits: int) -> Iterator[int]:
    """The ranks in a set within that block, lowest first."""
    start = block * BLOCK - 1
    while bits:
        below = bits - 1
        yield start + (bits ^ below).bit_length()
        bits &= below


def by_block(values: Sequence[T]) -> list[Sequence[T]]:
    """What is known of each rank, by block."""
    return [values[start : start + BLOCK] for start in range(0, len(values), BLOCK)]


def in_blocks(ranks: Iterable[int]) -> dict[int, int]:
    """The set of a few ranks, by block."""
    blocks: dict[int, int] = {}
    for _, block, bit, _ in map(spot, ranks):
        blocks[block] = blocks.get(block, 0) | bit
    return blocks


class Growing:
    """A set that only grows within a pass, and remembers when each rank came in."""

    __slots__ = ("_epochs", "_ranks", "_whole", "blocks")

    def __init__(self, bits: int, size: int) -> None:
        self.blocks = blocks_of(bits, size)
        self._epochs = array("i")
        self._ranks = array("i")
        self._whole = (0, bits)

    @property
    def bits(self) -> int:
        """The set as it is."""
        count, bits = self._whole
        if count != len(self._ranks):
            bits = joined(self.blocks)
            self._whole = (len(self._ranks), bits)
        return bits

    def add(self, rank: int, block: int, bit: int, epoch: int) -> None:
        """Take in a rank that is not yet in it, as its `Spot` has it."""
        self.blocks[block] |= bit
        self._epochs.append(epoch)
        self._ranks.append(rank)

    def before(self, epoch: int) -> int:
        """The set as it was before anything of that epoch came in."""
        first = bisect_left(self._epochs, epoch)
        if first == len(self._ranks):
            return self.bits
        later = self._ranks[first:]
        return less(self.bits, of_ranks(later, max(later) + 1))


class Left:
    """What is left of a set while others that only grow are taken away from it: it only shrinks.

    A block of which nothing is left is looked at once and never again, however many walks there are.
    """

    def __init__(self, bits: int, size: int, gone: Iterable[Growing]) -> None:
        self._blocks = blocks_of(bits, size)
        self._gone = [growing.blocks for growing in gone]
        self._next = [*range(1, len(self._blocks) + 1), 0]
        """For each block the next that may have anything left; the first of all at the end."""

    def at(self, block: int) -> int:
        """What is left in one block."""
        gone = 0
        for blocks in self._gone:
            gone |= blocks[block]
        bits = self._blocks[block]
        return bits ^ (bits & gone)

    def walk(self) -> Iterator[tuple[int, int]]:
        """Every block of which anything is left, and what."""
        ahead, last = self._next, -1
        while (block := ahead[last]) < len(self._blocks):
            bits = self.at(block)
            if bits:
                yield block, bits
                last = block
            else:
                ahead[last] = ahead[block]
