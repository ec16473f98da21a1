"""What this process remembers of rows that never change. Forgetting it costs time, never truth."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

Store = TypeVar("Store", bound=MutableMapping[Any, Any])
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_stores: list[MutableMapping[Any, Any]] = []


def remembered(store: Store) -> Store:
    """Count this mapping among what `forget` empties."""
    _stores.append(store)
    return store


def trim(store: OrderedDict[Any, Any], most: int) -> None:
    """Let go of what was remembered first until no more than `most` is left; several threads may do so at once."""
    for key in list(store)[: max(0, len(store) - most)]:
        store.pop(key, None)


def once(store: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    """What is remembered under this key, made where it is not; no more than `most` is kept."""
    found = store.get(key)
    if found is None:
        found = store[key] = make()
        trim(store, most)
    return found


def forget() -> None:
    """Empty every such mapping: another database may give the same keys to other rows."""
    for store in _stores:
        store.clear()


_lock = Lock()
_inside: list[object] = []


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Python's search for cycles waits while a pass makes its values, which have none and stay to its end.

    Each search walks everything there is, so what it costs grows with the fleet: an eighth of a pass over 50,000
    workers, a quarter where jobs are alike. Several threads may be inside at once; the last one out ends it.
    """
    me = object()
    with _lock:
        _inside.append(me)
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _inside.remove(me)
            if not _inside:
                gc.enable()
