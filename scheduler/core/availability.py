"""Could this worker run it now? One function per check, asked of compatible workers only, all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from scheduler.core.fleet import DeviceView, TaskLoad, Window, WorkerView
from scheduler.core.matching import (
    devices_of_its_own,
    free_devices,
    held_devices,
    in_full,
    is_its_own,
    is_reserved_from,
    qualifying,
    uses_too_much_outside,
    window_in_the_way,
    windows_ahead,
)
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import MemoryKind, Origin, QueueEntry
from scheduler.core.windows import gap_before


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


def is_left_before_a_reservation(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """The job is over before the worker is set aside for somebody else; `enough_at` is the longest limit that is."""
    window = window_in_the_way(entry, worker)
    if window is not None:
        holder, spec = in_full(window.holder), entry.spec
        yield Reason(
            code=Code.RESERVED_FROM, field="timeout_s" if spec.hold_s is None else "hold_s", required=spec.limit_s,
            actual=holder, holders=(holder,), since=window.starts_at, until=window.ends_at,
            enough_at=_time_before(entry, worker) or None,
        )  # fmt: skip


def is_reserved_for_it(entry: QueueEntry, worker: WorkerView, setting: Setting) -> Iterator[Reason]:
    """Of a job that waits for its own reservation: the worker, or some of its devices, is reserved for it.

    `since` is when its own reservation begins, where one is to come.
    """
    if not entry.spec.placement.reserved_only or is_its_own(entry, worker.facts.reserved_for):
        return
    if not entry.spec.resources.gpus or not devices_of_its_own(entry, worker.facts):
        own = [window.starts_at for window in worker.facts.upcoming if is_its_own(entry, window.holder)]
        yield Reason(
            code=Code.NOT_RESERVED, field="placement.reserved_only", required=True,
            since=min(own) if own and worker.at is not None else None,
        )  # fmt: skip


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
            windows = _windows(code, charged, entry, worker)
            ends = [window.ends_at for window in windows if window.ends_at is not None]
            if code is Code.GPU_RESERVED:
                ends = [device.reserved_until for device in charged if device.reserved_until is not None]
            yield Reason(
                code=code, field="resources.gpus", required=asked, actual=have, subject=_noted(code, charged),
                have=have, of=len(worker.facts.devices or ()), devices=tuple(device.index for device in charged),
                holders=_holders(code, charged, worker, windows),
                since=min((window.starts_at for window in windows), default=None), until=min(ends, default=None),
                enough_at=_enough_time(charged, asked - have, entry, worker) if windows else None,
            )  # fmt: skip


AVAILABILITY: dict[Code, Check] = {
    Code.OFFLINE: is_online,
    Code.DRAINING: accepts_new_jobs,
    Code.UNHEALTHY: is_healthy,
    Code.RESERVED_UNTIL: is_not_reserved_for_now,
    Code.RESERVED_FROM: is_left_before_a_reservation,
    Code.NOT_RESERVED: is_reserved_for_it,
    Code.FAILED_HERE: has_not_failed_it,
    Code.SLOTS: has_a_free_slot,
    Code.TIER_CLOSED: is_in_an_open_tier,
    Code.CPU_IN_USE: has_cpu_left,
    Code.MEMORY_IN_USE: has_memory_left,
    Code.DISK_IN_USE: has_disk_left,
    Code.GPU_UNHEALTHY: has_enough_free_devices,
    Code.GPU_RESERVED: has_enough_free_devices,
    Code.GPU_RESERVED_FROM: has_enough_free_devices,
    Code.GPU_NOT_RESERVED: has_enough_free_devices,
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
        Code.GPU_UNHEALTHY: [], Code.GPU_RESERVED: [], Code.GPU_RESERVED_FROM: [], Code.GPU_NOT_RESERVED: [],
        Code.GPU_FOREIGN: [], Code.GPU_IN_USE: [],
    }  # fmt: skip
    held, only = held_devices(worker), devices_of_its_own(entry, worker.facts)
    for device in qualifying(entry.spec, worker.facts):
        if device.healthy is False:
            charges[Code.GPU_UNHEALTHY].append(device)
        elif is_reserved_from(entry, device.reserved_for):
            charges[Code.GPU_RESERVED].append(device)
        elif window_in_the_way(entry, worker, device.index):
            charges[Code.GPU_RESERVED_FROM].append(device)
        elif only and device.index not in only:
            charges[Code.GPU_NOT_RESERVED].append(device)
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


def _time_before(entry: QueueEntry, worker: WorkerView, device: int | None = None) -> int:
    """The whole seconds until the first reservation for somebody else begins; 0 where none does."""
    ahead = windows_ahead(entry, worker, device)
    return gap_before(ahead[0], worker.at) if ahead and worker.at is not None else 0


def _enough_time(charged: list[DeviceView], missing: int, entry: QueueEntry, worker: WorkerView) -> int | None:
    """The longest limit with which so many of these devices could be had before they are kept for others."""
    held, only = held_devices(worker), devices_of_its_own(entry, worker.facts)
    others = (
        device.index
        for device in charged
        if device.index not in held
        and (not only or device.index in only)
        and not uses_too_much_outside(worker.facts, device)
    )
    times = sorted((_time_before(entry, worker, index) for index in others), reverse=True)
    return times[missing - 1] or None if len(times) >= missing else None


def _windows(code: Code, charged: list[DeviceView], entry: QueueEntry, worker: WorkerView) -> list[Window]:
    """The upcoming reservations that take these devices away, if that is what does."""
    if code is not Code.GPU_RESERVED_FROM:
        return []
    found = (window_in_the_way(entry, worker, device.index) for device in charged)
    return [window for window in found if window is not None]


def _holders(code: Code, charged: list[DeviceView], worker: WorkerView, windows: list[Window]) -> tuple[str, ...]:
    if windows:
        return tuple(sorted({in_full(window.holder) for window in windows}))
    if code is Code.GPU_RESERVED:
        return tuple(sorted({in_full(device.reserved_for or "") for device in charged}))
    if code is Code.GPU_IN_USE:
        indices = {device.index for device in charged}
        return _jobs(task for task in worker.tasks if not indices.isdisjoint(task.devices))
    return ()


def _jobs(tasks: Iterable[TaskLoad]) -> tuple[str, ...]:
    return tuple(sorted({task.job_id for task in tasks}))
