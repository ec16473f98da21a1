"""What each capability check reads of a job and of a worker's facts.

Workers whose facts read alike get the same answer, so each question is put once to each class of them. Only what is
written here beside a check may be read by it; the answers are proven equal to asking every worker by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter

from scheduler.core.builds import frameworks_asked
from scheduler.core.capability_software import DEFAULT_ENVIRONMENT
from scheduler.core.fleet import WorkerFacts
from scheduler.core.matching import in_full, uses_too_much_outside
from scheduler.core.reasons import Code
from scheduler.core.spec import JobSpec, QueueEntry
from scheduler.core.suitability import without_code

Reads = Callable[[WorkerFacts], Hashable]
_device_facts = attrgetter("index", "model", "kind", "memory_bytes", "memory_kind", "compute_capability", "mig")


@dataclass(frozen=True, slots=True)
class Question:
    """What one check reads. `asks` answers None where the job doesn't ask."""

    code: Code
    asks: Callable[[QueueEntry], Hashable]
    reads: Reads


def devices_of(facts: WorkerFacts) -> Hashable:
    """What never changes about a worker's devices; not whether they are healthy, reserved or used."""
    return facts.devices and tuple(map(_device_facts, facts.devices))


def condition_of(facts: WorkerFacts) -> Hashable:
    """A worker's devices, which of them something other than a task may keep from a job, and which have no code."""
    troubled = tuple(
        (device.index, device.healthy is False, device.reserved_for, uses_too_much_outside(facts, device))
        for device in facts.devices or ()
        if device.healthy is False
        or device.reserved_for is not None
        or (device.foreign_memory_bytes and uses_too_much_outside(facts, device))
    )
    kept = _kept_devices(facts) if troubled or facts.upcoming else None
    return (devices_of(facts), troubled, without_code(facts), kept)


def _kept_devices(facts: WorkerFacts) -> Hashable:
    """Which devices are to be kept for whom; beside devices that are kept already, for whom the worker is."""
    by_device = tuple(window for window in facts.upcoming if window.devices)
    is_any_kept = any(device.reserved_for is not None for device in facts.devices or ())
    return (by_device, facts.reserved_for if is_any_kept else None)


def platform_of(facts: WorkerFacts) -> Hashable:
    """A worker's devices, and what they must be supported on."""
    return (facts.os, facts.arch, devices_of(facts))


def equipment_of(facts: WorkerFacts) -> Hashable:
    """A worker's devices, and everything that decides what can use them."""
    return (facts.os, facts.arch, facts.driver, facts.environments, devices_of(facts))


def environments_of(facts: WorkerFacts) -> Hashable:
    """Every environment and what is in it."""
    return facts.environments


def has_address(facts: WorkerFacts) -> Hashable:
    """Whether others can reach it."""
    return bool(facts.advertise_address)


def reservation_of(facts: WorkerFacts) -> Hashable:
    """For whom the worker as a whole is set aside, and whether that has an end."""
    return facts.reserved_for and (in_full(facts.reserved_for), facts.reserved_until is not None)


def upcoming_of(facts: WorkerFacts) -> Hashable:
    """For whom the worker as a whole is to be set aside, and from when on."""
    return tuple(window for window in facts.upcoming if not window.devices)


def device_ask(spec: JobSpec) -> Hashable:
    """What a job asks of devices, and what must have code for them, in which environment; None if it wants none."""
    asked, needs = spec.resources, frameworks_asked(spec)
    if not asked.gpus:
        return None
    return (
        asked.gpus, asked.accelerator, asked.gpu_models, asked.gpu_memory_bytes, asked.gpu_memory_kind,
        asked.compute_capability, (spec.runtime.environment, needs) if needs else None,
    )  # fmt: skip


def _devices(entry: QueueEntry) -> Hashable:
    return device_ask(entry.spec)


def _devices_alone(entry: QueueEntry) -> Hashable:
    return None if frameworks_asked(entry.spec) else device_ask(entry.spec)


def _devices_and_code(entry: QueueEntry) -> Hashable:
    """What a job asks of devices that a framework must have code for; None where none must."""
    return device_ask(entry.spec) if frameworks_asked(entry.spec) else None


def _named_environment(entry: QueueEntry) -> str | None:
    named = entry.spec.runtime.environment
    return None if named == DEFAULT_ENVIRONMENT else named


def _is_gang(entry: QueueEntry) -> bool | None:
    return True if entry.spec.distributed else None


def _in_environment(asks: Callable[[QueueEntry], Hashable]) -> Callable[[QueueEntry], Hashable]:
    def within(entry: QueueEntry) -> Hashable:
        asked = asks(entry)
        return (entry.spec.runtime.environment, asked) if asked else None

    return within


def _of_gang(name: str) -> Callable[[QueueEntry], Hashable]:
    return _in_environment(lambda entry: entry.spec.distributed and getattr(entry.spec.distributed, name))


QUESTIONS = (
    Question(Code.TARGET, attrgetter("spec.tiers"), attrgetter("origin")),
    Question(Code.PROVIDER, attrgetter("spec.placement.provider"), attrgetter("provider")),
    Question(Code.REGION, attrgetter("spec.placement.region"), attrgetter("region")),
    Question(Code.OS, attrgetter("spec.resources.os"), attrgetter("os")),
    Question(Code.ARCH, attrgetter("spec.resources.arch"), attrgetter("arch")),
    Question(Code.ENVIRONMENT, _named_environment, environments_of),
    Question(Code.PYTHON, _in_environment(attrgetter("spec.runtime.python")), environments_of),
    Question(Code.FRAMEWORK, _in_environment(attrgetter("spec.runtime.frameworks")), environments_of),
    Question(Code.SUPPORT_MATRIX, _devices_alone, platform_of),
    Question(Code.SUPPORT_MATRIX, _devices_and_code, equipment_of),
    Question(Code.GPU_COUNT, _devices, devices_of),
    Question(Code.GPU_MIG, _devices, devices_of),
    Question(Code.GPU_ACCELERATOR, _devices, devices_of),
    Question(Code.GPU_MODEL, _devices, devices_of),
    Question(Code.GPU_MEMORY, _devices, devices_of),
    Question(Code.GPU_MEMORY_KIND, _devices, devices_of),
    Question(Code.GPU_COMPUTE_CAPABILITY, _devices, devices_of),
    Question(Code.GPU_COMBINATION, _devices_alone, devices_of),
    Question(Code.GPU_COMBINATION, _devices_and_code, equipment_of),
    Question(Code.DIST_LAUNCHER, _of_gang("launcher"), environments_of),
    Question(Code.DIST_BACKEND, _of_gang("comm_backend"), environments_of),
    Question(Code.DIST_TORCH, _in_environment(_is_gang), environments_of),
    Question(Code.DIST_ADDRESS, _is_gang, has_address),
)
"""Not here: what is asked of a worker's own name, labels, reservation and sizes, of which there is no class."""

TOLD_APART_BY: dict[Reads, tuple[tuple[Reads, ...], tuple[Reads, ...]]] = {
    devices_of: ((), (condition_of,)),
    platform_of: ((attrgetter("os"), attrgetter("arch")), (devices_of,)),
    equipment_of: ((attrgetter("os"), attrgetter("arch"), attrgetter("driver")), (devices_of, environments_of)),
}
"""Ways of reading whose classes follow from a few facts and the classes by other ways: found without reading it all."""

READS: dict[Code, Reads] = {question.code: question.reads for question in QUESTIONS} | {Code.RESERVED: reservation_of}
"""By code, how facts are read for its classes; where there are two ways, by the finer one."""
