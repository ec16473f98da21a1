"""The workers of a fleet sorted by id, and parts of them that are listed only when somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from typing import overload

from scheduler.core.bits import members


class Roster:
    """Every worker's id, sorted; a set of ranks stands for some of them."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = tuple(ids)

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of all the ids."""
        return sha256("\n".join(self.ids).encode()).hexdigest()


class Part(Sequence[str]):
    """Some workers of a roster, as a tuple of ids would be; takes an eighth of a byte for each worker of the fleet."""

    __slots__ = ("bits", "roster")

    def __init__(self, roster: Roster, bits: int) -> None:
        self.roster = roster
        self.bits = bits

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __iter__(self) -> Iterator[str]:
        return iter(members(self.bits, self.roster.ids))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return members(self.bits, self.roster.ids)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
