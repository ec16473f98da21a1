"""What this process remembers of rows that never change. Forgetting it costs time, never truth."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import MutableMapping
from typing import Any, TypeVar

Store = TypeVar("Store", bound=MutableMapping[Any, Any])

_stores: list[MutableMapping[Any, Any]] = []


def remembered(store: Store) -> Store:
    """Count this mapping among what `forget` empties."""
    _stores.append(store)
    return store


def trim(store: OrderedDict[Any, Any], most: int) -> None:
    """Let go of what was remembered first until no more than `most` is left; several threads may do so at once."""
    for key in list(store)[: max(0, len(store) - most)]:
        store.pop(key, None)


def forget() -> None:
    """Empty every such mapping: another database may give the same keys to other rows."""
    for store in _stores:
        store.clear()
