"""The policies over whole fleets: eligible workers in the order in which they are taken."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from scheduler.core.bits import each, groups_of
from scheduler.core.board import Board
from scheduler.core.census import UNKNOWN, Census
from scheduler.core.device_board import Request


class ById:
    """`first_fit`: ranks are in the order of ids."""

    def walk(self, eligible: int) -> Iterator[int]:
        """The eligible ranks, best first."""
        return each(eligible)


class ByMemory:
    """`most_free_memory`, of the devices that a request could be given, or of RAM where it asks for none."""

    def __init__(self, board: Board, census: Census, request: Request | None) -> None:
        self._board = board
        self._census = census
        self._request = request
        self._seen = len(board.touched)
        if request is not None:
            self._amounts = board.devices.memory_left_everywhere(request)
        else:
            self._amounts = [self._left(rank) for rank in range(census.size)]
        self._alike = groups_of(self._amounts)
        self._known = sorted(amount for amount in self._alike if amount is not None)

    def walk(self, eligible: int) -> Iterator[int]:
        """The eligible ranks, best first: most memory, unknown last, then by id."""
        self._catch_up()
        for amount in (*reversed(self._known), None):
            yield from each(self._alike.get(amount, 0) & eligible)

    def _left(self, rank: int) -> int | None:
        if self._request is not None:
            return self._board.devices.memory_left(self._request, rank)
        return None if self._census.memory[rank] == UNKNOWN else self._board.memory.left[rank]

    def _catch_up(self) -> None:
        """Move the workers of which something was taken since."""
        for rank in self._board.touched[self._seen :]:
            old, new = self._amounts[rank], self._left(rank)
            if new != old:
                self._amounts[rank] = new
                self._leave(old, 1 << rank)
                self._enter(new, 1 << rank)
        self._seen = len(self._board.touched)

    def _leave(self, amount: int | None, bit: int) -> None:
        self._alike[amount] ^= bit
        if not self._alike[amount]:
            del self._alike[amount]
            if amount is not None:
                del self._known[bisect_left(self._known, amount)]

    def _enter(self, amount: int | None, bit: int) -> None:
        if amount not in self._alike:
            self._alike[amount] = 0
            if amount is not None:
                insort(self._known, amount)
        self._alike[amount] |= bit
