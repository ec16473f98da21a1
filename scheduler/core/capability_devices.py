"""Could this worker ever run it: the devices that exist, healthy or not.

Each check speaks only where those before it left something to say: with too few devices, nothing is said of how many
are whole; with too few whole ones, nothing of how many have the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from scheduler.core import matching
from scheduler.core.builds import builds_asked
from scheduler.core.capability_matrix import described, too_few_have_code
from scheduler.core.fleet import DeviceView, WorkerFacts
from scheduler.core.matching import Answer, Meets, is_whole, meets_all_of_it, one_kind, suits
from scheduler.core.reasons import Code, Fact, Reason
from scheduler.core.spec import Accelerator, QueueEntry
from scheduler.core.suitability import every_build_has_code, host_of
from scheduler.core.versions import parse_version

Devices = tuple[DeviceView, ...]
T = TypeVar("T")


def has_enough_devices(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has that many devices, whatever they are."""
    asked = entry.spec.resources.gpus
    has = None if worker.devices is None else len(worker.devices)
    if asked and (has is None or has < asked):
        yield Reason(
            code=Code.GPU_COUNT, field="resources.gpus", required=asked, actual=has, unknown=has is None,
            have=has, of=has, enough_at=has or None,
        )  # fmt: skip


def has_enough_whole_devices(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough of them are whole."""
    asked, devices = entry.spec.resources.gpus, worker.devices or ()
    parted = tuple(device.index for device in devices if not is_whole(device))
    whole = len(devices) - len(parted)
    if len(devices) >= asked > whole:
        yield Reason(
            code=Code.GPU_MIG, field="resources.gpus", required=asked, actual=whole,
            have=whole, of=len(devices), enough_at=whole or None, devices=parted,
        )  # fmt: skip


def has_enough_of_the_accelerator(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough whole devices are of the kind asked for."""
    asked = entry.spec.resources.accelerator

    def found(whole: Devices) -> Fact:
        return tuple(sorted({device.kind.value for device in whole if device.kind}))

    if asked:
        field = "resources.accelerator"
        yield from _enough(entry, worker, matching.has_the_accelerator, Code.GPU_ACCELERATOR, field, asked.value, found)


def has_enough_of_the_model(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough whole devices are of a model asked for."""
    asked = entry.spec.resources.gpu_models

    def found(whole: Devices) -> Fact:
        return tuple(sorted({device.model for device in whole if device.model is not None}))

    if asked:
        yield from _enough(entry, worker, matching.has_the_model, Code.GPU_MODEL, "resources.gpu_models", asked, found)


def has_enough_with_the_memory(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough whole devices have the memory; `actual` is the most that one has."""
    asked = entry.spec.resources.gpu_memory_bytes

    def found(whole: Devices) -> Fact:
        return max(_memories(whole), default=None)

    def enough_at(whole: Devices) -> Fact:
        return _nth(_memories(whole), entry.spec.resources.gpus)

    if asked is not None:
        field = "resources.gpu_memory_gb"
        yield from _enough(entry, worker, matching.has_the_memory, Code.GPU_MEMORY, field, asked, found, enough_at)


def has_enough_with_the_memory_kind(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough whole devices have memory of the kind asked for."""
    asked = entry.spec.resources.gpu_memory_kind

    def found(whole: Devices) -> Fact:
        return tuple(sorted({device.memory_kind.value for device in whole if device.memory_kind}))

    if asked:
        field = "resources.gpu_memory_kind"
        yield from _enough(entry, worker, matching.has_the_memory_kind, Code.GPU_MEMORY_KIND, field, asked.value, found)


def has_enough_with_the_compute_capability(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Enough whole devices have a compute capability asked for; `subject` names the kinds that have none."""
    asked = entry.spec.resources.compute_capability

    def found(whole: Devices) -> Fact:
        return tuple(dict.fromkeys(_capabilities(whole)))

    def enough_at(whole: Devices) -> Fact:
        nth = _nth(_capabilities(whole), entry.spec.resources.gpus)
        return None if nth is None else f">={nth}"

    if asked is not None:
        field = "resources.compute_capability"
        others = {device.kind.value for device in _whole(worker) if device.kind and device.kind is not Accelerator.CUDA}
        for reason in _enough(
            entry, worker, matching.has_the_compute_capability, Code.GPU_COMPUTE_CAPABILITY, field, asked, found,
            enough_at,
        ):  # fmt: skip
            yield replace(reason, subject=", ".join(sorted(others)) or None)


def has_enough_with_all_of_it(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Where each requirement alone is met often enough, the same devices, all of one kind, meet them together."""
    asked = entry.spec.resources
    whole = _whole(worker)
    if not asked.gpus or len(whole) < asked.gpus or not all(_often_enough(entry, whole)):
        return
    answers = [suits(entry.spec, worker, device) for device in whole]
    have = _of_one_kind(whole, answers, (True,), asked.gpus)
    if have < asked.gpus and not too_few_have_code(entry.spec, worker):
        perhaps = _of_one_kind(whole, answers, (True, None), asked.gpus)
        kinds = tuple(device.kind.value if device.kind else "unknown" for device in whole)
        yield Reason(
            code=Code.GPU_COMBINATION, field="resources.gpus", required=asked.gpus, actual=kinds,
            unknown=perhaps >= asked.gpus, have=have, of=len(worker.devices or ()), enough_at=have or None,
            subject=_without_code(entry, worker, whole),
        )  # fmt: skip


def _without_code(entry: QueueEntry, worker: WorkerFacts, whole: Devices) -> str | None:
    """The builds for want of whose code some device doesn't qualify that meets everything else."""
    builds, host = builds_asked(entry.spec, worker), host_of(worker)
    stated = [device for device in whole if meets_all_of_it(entry.spec.resources, device)]
    if all(every_build_has_code(builds, host, device) for device in stated):
        return None
    return ", ".join(map(described, builds))


def _of_one_kind(whole: Devices, answers: list[Answer], wanted: tuple[Answer, ...], count: int) -> int:
    return len(one_kind((device for device, answer in zip(whole, answers, strict=True) if answer in wanted), count))


def _whole(worker: WorkerFacts) -> Devices:
    return tuple(device for device in worker.devices or () if is_whole(device))


def _often_enough(entry: QueueEntry, whole: Devices) -> Iterator[bool]:
    asked = entry.spec.resources
    for meets in matching.PER_DEVICE:
        yield sum(meets(asked, device) is True for device in whole) >= asked.gpus


def _enough(
    entry: QueueEntry, worker: WorkerFacts, meets: Meets, code: Code, field: str, required: Fact,
    found: Callable[[Devices], Fact], enough_at: Callable[[Devices], Fact] = lambda whole: None,
) -> Iterator[Reason]:  # fmt: skip
    """The reason of one per-device requirement; `unknown` where only facts that are unknown stand in the way."""
    asked, whole = entry.spec.resources, _whole(worker)
    if not asked.gpus or len(whole) < asked.gpus:
        return
    answers = [meets(asked, device) for device in whole]
    have = answers.count(True)
    if have < asked.gpus:
        yield Reason(
            code=code, field=field, required=required, actual=found(whole),
            unknown=have + answers.count(None) >= asked.gpus, have=have, of=len(worker.devices or ()),
            enough_at=enough_at(whole),
            devices=tuple(device.index for device, answer in zip(whole, answers, strict=True) if not answer),
        )  # fmt: skip


def _memories(whole: Devices) -> list[int]:
    return sorted((device.memory_bytes for device in whole if device.memory_bytes is not None), reverse=True)


def _capabilities(whole: Devices) -> list[str]:
    """What the CUDA devices report, highest first."""
    known = [
        (version, device.compute_capability or "")
        for device in whole
        if device.kind is Accelerator.CUDA and (version := parse_version(device.compute_capability or ""))
    ]
    return [text for _, text in sorted(known, reverse=True)]


def _nth(values: list[T], count: int) -> T | None:
    return values[count - 1] if 0 < count <= len(values) else None
