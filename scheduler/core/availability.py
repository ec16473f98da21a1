"""Could this worker run it now? One function per check, asked of compatible workers only, all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from scheduler.core.fleet import DeviceView, TaskLoad, WorkerView
from scheduler.core.matching import (
    free_devices,
    held_devices,
    in_full,
    is_reserved_from,
    qualifying,
    uses_too_much_outside,
)
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import MemoryKind, Origin, QueueEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one worker's answer depends on beyond the worker: how the job stands with the rest of the fleet."""

    closed: frozenset[Origin] = frozenset()
    """Tiers that an earlier one keeps closed."""
    avoided: frozenset[str] = frozenset()
    """Workers on which the job failed, where it can do without them."""


Check = Callable[[QueueEntry, WorkerView, Setting], Iterator[Reason]]


def is_online(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """It is in contact."""
    if not worker.online:
        yield Reason(code=Code.OFFLINE, field="", since=worker.state_since)


def accepts_new_jobs(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """It is not draining."""
    if worker.draining:
        yield Reason(code=Code.DRAINING, field="", actual=worker.state_note or None, since=worker.state_since)


def is_healthy(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """It has not been found unhealthy as a whole."""
    if worker.unhealthy:
        yield Reason(code=Code.UNHEALTHY, field="", actual=worker.state_note or None, since=worker.state_since)


def is_not_reserved_for_now(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """It is not set aside for somebody else until some instant."""
    held_for, until = worker.facts.reserved_for, worker.facts.reserved_until
    if held_for is not None and until is not None and is_reserved_from(entry, held_for):
        holder = in_full(held_for)
        yield Reason(code=Code.RESERVED_UNTIL, field="placement", actual=holder, holders=(holder,), until=until)


def has_not_failed_it(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """The job did not fail here, or has nowhere else to go."""
    if worker.id in setting.avoided:
        yield Reason(code=Code.FAILED_HERE, field="retries")


def has_a_free_slot(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """It takes one more task; `required` and `actual` are slots, `have` of `of` the devices that are free."""
    slots, taken = slots_of(worker), len(worker.tasks)
    if taken >= slots:
        wanted = qualifying(entry.spec, worker.facts)
        yield Reason(
            code=Code.SLOTS, field="", required=taken + 1, actual=slots, holders=_jobs(worker.tasks),
            have=len(free_devices(entry, worker)) if wanted else None,
            of=len(worker.facts.devices or ()) if wanted else None,
        )  # fmt: skip


def is_in_an_open_tier(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """No earlier tier that could run the job later keeps this one closed."""
    if worker.facts.origin in setting.closed:
        yield Reason(
            code=Code.TIER_CLOSED, field="fallback_when",
            required=entry.spec.fallback_when.value, actual=worker.facts.origin.value,
        )  # fmt: skip


def has_cpu_left(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """Other tasks leave enough of its cores."""
    asked = entry.spec.resources.cpu_millicores
    tasks = tuple(task for task in worker.tasks if task.cpu_millicores)
    yield from _left(Code.CPU_IN_USE, "resources.cpu_cores", asked, free_cpu(worker), tasks)


def has_memory_left(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """Other tasks leave enough of its RAM."""
    asked = entry.spec.resources.memory_bytes
    tasks = tuple(task for task in worker.tasks if task.memory_bytes)
    yield from _left(Code.MEMORY_IN_USE, "resources.memory_gb", asked, free_memory(worker), tasks)


def has_disk_left(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """Other tasks leave enough of its disk."""
    asked = entry.spec.resources.disk_bytes
    tasks = tuple(task for task in worker.tasks if task.disk_bytes)
    yield from _left(Code.DISK_IN_USE, "resources.disk_gb", asked, free_disk(worker), tasks)


def has_enough_free_devices(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """Enough qualifying devices are free; else every cause that takes one away, each device charged once."""
    asked = entry.spec.resources.gpus
    have = len(free_devices(entry, worker))
    if have >= asked:
        return
    for code, charged in charges(entry, worker).items():
        if charged:
            ends = [device.reserved_until for device in charged if device.reserved_until is not None]
            yield Reason(
                code=code, field="resources.gpus", required=asked, actual=have, subject=_noted(code, charged),
                have=have, of=len(worker.facts.devices or ()), devices=tuple(device.index for device in charged),
                holders=_holders(code, charged, worker),
                until=min(ends) if ends and code is Code.GPU_RESERVED else None,
            )  # fmt: skip


AVAILABILITY: dict[Code, Check] = {
    Code.OFFLINE: is_online,
    Code.DRAINING: accepts_new_jobs,
    Code.UNHEALTHY: is_healthy,
    Code.RESERVED_UNTIL: is_not_reserved_for_now,
    Code.FAILED_HERE: has_not_failed_it,
    Code.SLOTS: has_a_free_slot,
    Code.TIER_CLOSED: is_in_an_open_tier,
    Code.CPU_IN_USE: has_cpu_left,
    Code.MEMORY_IN_USE: has_memory_left,
    Code.DISK_IN_USE: has_disk_left,
    Code.GPU_UNHEALTHY: has_enough_free_devices,
    Code.GPU_RESERVED: has_enough_free_devices,
    Code.GPU_FOREIGN: has_enough_free_devices,
    Code.GPU_IN_USE: has_enough_free_devices,
}
"""In the order in which they are asked, by the codes of their reasons; one check may stand under several."""


def slots_of(worker: WorkerView) -> int:
    """How many tasks it takes at once: as told, else one per usable discrete GPU, at least 1."""
    told = worker.facts.max_concurrent_tasks
    if told is not None:
        return told
    usable = (
        device.healthy is not False and device.mig is not True and device.memory_kind is MemoryKind.DEDICATED
        for device in worker.facts.devices or ()
    )  # fmt: skip
    return max(1, sum(usable))


def free_cpu(worker: WorkerView) -> int | None:
    """Thousandths of a core that no task was promised; None where the total is unknown."""
    total = worker.facts.cpu_millicores
    return None if total is None else total - sum(task.cpu_millicores for task in worker.tasks)


def free_memory(worker: WorkerView) -> int | None:
    """Bytes of RAM that no task was promised; None where the total is unknown."""
    total = worker.facts.memory_bytes
    return None if total is None else total - sum(task.memory_bytes for task in worker.tasks)


def free_disk(worker: WorkerView) -> int | None:
    """Bytes of disk that no task was promised; None where the total is unknown."""
    total = worker.facts.disk_bytes
    return None if total is None else total - sum(task.disk_bytes for task in worker.tasks)


def charges(entry: QueueEntry, worker: WorkerView) -> dict[Code, list[DeviceView]]:
    """The qualifying devices that are not free, by the first cause that applies to each."""
    charges: dict[Code, list[DeviceView]] = {
        Code.GPU_UNHEALTHY: [], Code.GPU_RESERVED: [], Code.GPU_FOREIGN: [], Code.GPU_IN_USE: [],
    }  # fmt: skip
    held = held_devices(worker)
    for device in qualifying(entry.spec, worker.facts):
        if device.healthy is False:
            charges[Code.GPU_UNHEALTHY].append(device)
        elif is_reserved_from(entry, device.reserved_for):
            charges[Code.GPU_RESERVED].append(device)
        elif uses_too_much_outside(worker.facts, device):
            charges[Code.GPU_FOREIGN].append(device)
        elif device.index in held:
            charges[Code.GPU_IN_USE].append(device)
    return charges


def _left(
    code: Code, field: str, required: int | None, left: int | None, tasks: tuple[TaskLoad, ...]
) -> Iterator[Reason]:
    if required is not None and left is not None and left < required:
        yield Reason(code=code, field=field, required=required, actual=left, holders=_jobs(tasks), enough_at=left)


def _noted(code: Code, charged: list[DeviceView]) -> str | None:
    """What was noted of unhealthy devices."""
    notes = dict.fromkeys(device.health_note for device in charged if device.health_note)
    return "; ".join(notes) or None if code is Code.GPU_UNHEALTHY else None


def _holders(code: Code, charged: list[DeviceView], worker: WorkerView) -> tuple[str, ...]:
    if code is Code.GPU_RESERVED:
        return tuple(sorted({in_full(device.reserved_for or "") for device in charged}))
    if code is Code.GPU_IN_USE:
        indices = {device.index for device in charged}
        return _jobs(task for task in worker.tasks if not indices.isdisjoint(task.devices))
    return ()


def _jobs(tasks: Iterable[TaskLoad]) -> tuple[str, ...]:
    return tuple(sorted({task.job_id for task in tasks}))
