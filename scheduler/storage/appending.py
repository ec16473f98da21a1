"""Appending by compare-and-set: bytes first, durable, then the row that counts them.

A crash in between leaves bytes that no row counts: nobody reads them, and the repeated call writes over them.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduler.storage.interface import Blob, Key, Storage


class GapError(Exception):
    """The object has another size than the caller believes; `size` is the true one."""

    def __init__(self, size: int) -> None:
        super().__init__(f"it has {size} bytes")
        self.size = size


class DiffersError(Exception):
    """Other bytes are stored there already; `size` is how much there is."""

    def __init__(self, size: int) -> None:
        super().__init__(f"it has other bytes there, {size} in all")
        self.size = size


def append(
    storage: Storage, key: Key, data: bytes, *, offset: int, counted: Callable[[], int],
    move: Callable[[int, int], bool],
) -> int:  # fmt: skip
    """Append `data` at `offset` and return the object's size then; what is there already changes nothing.

    `counted()` is the size by the row, `move(from, to)` its compare-and-set: False where another call was first.
    Raises GapError, DiffersError, StorageError.
    """
    with storage.writing(key) as blob:
        size = counted()
        if offset > size:
            raise GapError(size)
        fresh = _fresh(blob, data, offset=offset, size=size)
        if not fresh:
            return size
        blob.write(size, fresh)
        if not move(size, size + len(fresh)):
            raise GapError(counted())
        return size + len(fresh)


def _fresh(blob: Blob, data: bytes, *, offset: int, size: int) -> bytes:
    """What of `data` is not there yet."""
    known = min(size - offset, len(data))
    if known and blob.read(offset, known) != data[:known]:
        raise DiffersError(size)
    return data[known:]
