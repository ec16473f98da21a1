"""How eligible workers are ordered: a policy is a key, and every tie ends at the worker's id."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scheduler.core.availability import free_memory
from scheduler.core.fleet import DeviceView, WorkerView
from scheduler.core.matching import free_devices
from scheduler.core.spec import Policy, QueueEntry

Key = tuple[int | str | None, ...]


def first_fit(entry: QueueEntry, worker: WorkerView) -> Key:
    """By id alone."""
    return (worker.id,)


def most_free_memory(entry: QueueEntry, worker: WorkerView) -> Key:
    """By the memory of the free devices that qualify, or the RAM left where no device is asked for; None if unknown."""
    if not entry.spec.resources.gpus:
        return (free_memory(worker), worker.id)
    return (memory_of(free_devices(entry, worker)), worker.id)


def memory_of(devices: Iterable[DeviceView]) -> int | None:
    """Bytes of several devices together, as reported in total; one unknown makes the sum unknown."""
    sizes = [device.memory_bytes for device in devices]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


KEYS: dict[Policy, Callable[[QueueEntry, WorkerView], Key]] = {
    Policy.FIRST_FIT: first_fit,
    Policy.MOST_FREE_MEMORY: most_free_memory,
}


def policy_key(entry: QueueEntry, worker: WorkerView) -> Key:
    """The key under the job's policy, as recorded."""
    return KEYS[entry.spec.policy](entry, worker)


def best_first(key: Key) -> tuple[bool, int, str]:
    """What a key sorts by: most memory first, unknown last, then the id as plain text."""
    memory = key[0] if len(key) > 1 else 0
    return (memory is None, -memory if isinstance(memory, int) else 0, str(key[-1]))
