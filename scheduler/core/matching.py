"""Which devices suit a job, and which of those are free. None is the third answer: the fact is unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from scheduler.core.builds import builds_asked
from scheduler.core.fleet import DEFAULT_FOREIGN_ALLOWANCE_BYTES, DeviceView, Window, WorkerFacts, WorkerView
from scheduler.core.holders import holder
from scheduler.core.spec import Accelerator, JobSpec, QueueEntry, Resources
from scheduler.core.suitability import every_build_has_code, host_of
from scheduler.core.versions import satisfies
from scheduler.core.windows import reaches_into

Answer = bool | None
Meets = Callable[[Resources, DeviceView], Answer]


def holders_of(entry: QueueEntry) -> frozenset[str]:
    """Everyone for whom something may be reserved that this job may then use; itself always."""
    return frozenset((f"job:{entry.job_id}", *entry.holders))


def is_reserved_from(entry: QueueEntry, reserved_for: str | None) -> bool:
    """Whether this is set aside for somebody else."""
    return reserved_for is not None and in_full(reserved_for) not in holders_of(entry)


def is_its_own(entry: QueueEntry, reserved_for: str | None) -> bool:
    """Whether this is set aside for one of the job's holders."""
    return reserved_for is not None and in_full(reserved_for) in holders_of(entry)


def windows_ahead(entry: QueueEntry, worker: WorkerView, device: int | None = None) -> tuple[Window, ...]:
    """The upcoming reservations for others, by their starts: of the whole worker, or of the device of this index."""
    if worker.at is None:
        return ()
    return tuple(
        window
        for window in worker.facts.upcoming
        if (not window.devices if device is None else device in window.devices)
        and is_reserved_from(entry, window.holder)
    )


def window_in_the_way(entry: QueueEntry, worker: WorkerView, device: int | None = None) -> Window | None:
    """The first of them that the job, started now, may still run into; notice is given by each for itself."""
    if worker.at is None:
        return None
    limit = entry.spec.limit_s
    ahead = windows_ahead(entry, worker, device)
    return next((window for window in ahead if reaches_into(limit, window, worker.at)), None)


def devices_of_its_own(entry: QueueEntry, facts: WorkerFacts) -> frozenset[int]:
    """Of a job that waits for its own reservation: its devices here, the only ones it may have.

    Empty where it is not reserved by device: then the whole worker is its own, or none of it is.
    """
    if not entry.spec.placement.reserved_only or is_its_own(entry, facts.reserved_for):
        return frozenset()
    return frozenset(device.index for device in facts.devices or () if is_its_own(entry, device.reserved_for))


def in_full(reserved_for: str) -> str:
    """The holder with its kind: a bare value means a job."""
    return holder(reserved_for) or reserved_for


def is_whole(device: DeviceView) -> bool:
    """Whether the device can be given out: it is not known to be partitioned."""
    return device.mig is not True


def has_the_accelerator(asked: Resources, device: DeviceView) -> Answer:
    """Whether it is of the kind asked for."""
    if asked.accelerator is None:
        return True
    return None if device.kind is None else device.kind is asked.accelerator


def has_the_model(asked: Resources, device: DeviceView) -> Answer:
    """Whether its model is like one of those asked for."""
    if not asked.gpu_models:
        return True
    return None if device.model is None else _is_like(asked.gpu_models, device.model)


def has_the_memory(asked: Resources, device: DeviceView) -> Answer:
    """Whether it has enough memory; equality is enough."""
    if asked.gpu_memory_bytes is None:
        return True
    return None if device.memory_bytes is None else device.memory_bytes >= asked.gpu_memory_bytes


def has_the_memory_kind(asked: Resources, device: DeviceView) -> Answer:
    """Whether its memory is of the kind asked for."""
    if asked.gpu_memory_kind is None:
        return True
    return None if device.memory_kind is None else device.memory_kind is asked.gpu_memory_kind


def has_the_compute_capability(asked: Resources, device: DeviceView) -> Answer:
    """Whether its compute capability is one asked for. It is a CUDA notion: a device of another kind has none."""
    if asked.compute_capability is None:
        return True
    if device.kind is not None and device.kind is not Accelerator.CUDA:
        return False
    answer = satisfies(device.compute_capability, asked.compute_capability)
    return None if device.kind is None and answer else answer


PER_DEVICE: tuple[Meets, ...] = (
    has_the_accelerator,
    has_the_model,
    has_the_memory,
    has_the_memory_kind,
    has_the_compute_capability,
)


def meets_all_of_it(asked: Resources, device: DeviceView) -> Answer:
    """Whether the device is whole and meets every per-device requirement that the job states."""
    if not is_whole(device):
        return False
    return _all_of([meets(asked, device) for meets in PER_DEVICE])


def suits(spec: JobSpec, facts: WorkerFacts, device: DeviceView) -> Answer:
    """Whether it meets all of that, and the framework that the job needs beside it has code for it."""
    stated = meets_all_of_it(spec.resources, device)
    builds = builds_asked(spec, facts) if stated is not False else ()
    return _all_of([stated, every_build_has_code(builds, host_of(facts), device)]) if builds else stated


def one_kind(devices: Iterable[DeviceView], count: int) -> tuple[DeviceView, ...]:
    """Those of the first kind of which there are enough, else of the kind of which there are most.

    Devices of unknown kind may differ from one another, so only one of them can serve a task, alone.
    """
    kinds: dict[Accelerator | None, list[DeviceView]] = {kind: [] for kind in (*Accelerator, None)}
    for device in devices:
        kinds[device.kind].append(device)
    del kinds[None][1:]
    reached = min(count, max(map(len, kinds.values())))
    return tuple(next(alike for alike in kinds.values() if len(alike) >= reached))


def qualifying(spec: JobSpec, facts: WorkerFacts) -> tuple[DeviceView, ...]:
    """The devices from which a task's are picked, free or not: they suit and are of one kind."""
    count = spec.resources.gpus
    if not count:
        return ()
    return one_kind((device for device in facts.devices or () if suits(spec, facts, device)), count)


def uses_too_much_outside(facts: WorkerFacts, device: DeviceView) -> bool:
    """Whether processes outside this system hold more of it than the worker allows."""
    allowed = facts.foreign_allowance_bytes
    if allowed is None:
        allowed = DEFAULT_FOREIGN_ALLOWANCE_BYTES
    return (device.foreign_memory_bytes or 0) > allowed


def held_devices(worker: WorkerView) -> frozenset[int]:
    """Indices of the devices that tasks hold."""
    return frozenset(index for task in worker.tasks for index in task.devices)


def free_devices(entry: QueueEntry, worker: WorkerView) -> tuple[DeviceView, ...]:
    """The qualifying devices that this job could be given now."""
    held, only = held_devices(worker), devices_of_its_own(entry, worker.facts)
    return tuple(
        device
        for device in qualifying(entry.spec, worker.facts)
        if device.index not in held
        and (not only or device.index in only)
        and can_be_given(entry, worker, device)
    )  # fmt: skip


def can_be_given(entry: QueueEntry, worker: WorkerView, device: DeviceView) -> bool:
    """Whether nothing but another task can stand between the device and a job that takes any."""
    return not (
        device.healthy is False
        or is_reserved_from(entry, device.reserved_for)
        or uses_too_much_outside(worker.facts, device)
        or window_in_the_way(entry, worker, device.index)
    )


def _all_of(answers: list[Answer]) -> Answer:
    return False if False in answers else None if None in answers else True


@lru_cache(maxsize=16384)
def _is_like(patterns: tuple[str, ...], model: str) -> bool:
    return any(_pattern(text.casefold()).fullmatch(model.casefold()) for text in patterns)


@lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    """Only `*` and `?` are special. What stands between two stars is found once and kept, so matching stays quick."""
    first, *others = [
        "".join("." if letter == "?" else re.escape(letter) for letter in part) for part in text.split("*")
    ]
    if not others:
        return re.compile(first, re.DOTALL)
    *between, last = others
    return re.compile(first + "".join(f"(?>.*?{part})" for part in between) + ".*" + last, re.DOTALL)
