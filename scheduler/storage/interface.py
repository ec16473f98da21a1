"""What any storage can do. Objects only ever grow, and are named by kind and number: no name comes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Kind(StrEnum):
    """What an object is: the number that names it is the primary key of its row."""

    LOGS = "logs"
    """Of a task."""
    OUTPUTS = "outputs"
    """Of an output file."""
    BUNDLES = "bundles"
    """Of a bundle."""


@dataclass(frozen=True, slots=True)
class Key:
    """The name of one object."""

    kind: Kind
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f"objects are numbered from 0, not {self.number}")


@dataclass(frozen=True, slots=True)
class Found:
    """An object that lies there. `size` counts bytes, also those that no row counts yet."""

    key: Key
    size: int
    changed_at: datetime


class StorageError(Exception):
    """The storage did not do it; the message says why and is not for users."""


class StorageFullError(StorageError):
    """There is no room for it."""


class Blob(Protocol):
    """One object, while nobody else writes to it."""

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; fewer at its end. Raises StorageError."""

    def write(self, offset: int, data: bytes) -> None:
        """Put `data` at `offset`, over what may be there; it is durable when this returns. Raises StorageError."""


class Storage(Protocol):
    """Objects of bytes. A storage of numbered parts can do it as well as a file: nothing is changed in the middle."""

    def writing(self, key: Key) -> AbstractContextManager[Blob]:
        """The object, made if it is not there, for one writer at a time. Raises StorageError."""

    def read(self, key: Key, *, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; none of an object that is not there. Raises StorageError."""

    def size(self, key: Key) -> int | None:
        """How many bytes it has; None where there is none. Raises StorageError."""

    def delete(self, key: Key) -> bool:
        """Remove it; False where there was none. Raises StorageError."""

    def listing(self, kind: Kind) -> Iterator[Found]:
        """Every object of this kind, in no order: to sweep what no row knows."""
