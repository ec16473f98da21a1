"""Could this worker ever run it? One function per check; the tuple at the end is the order in which they are asked.

A check reads nothing that changes from minute to minute, and says nothing where it is satisfied or not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler.core import capability_devices as devices
from scheduler.core import capability_software as software
from scheduler.core.capability_matrix import is_a_supported_combination
from scheduler.core.fleet import WorkerFacts
from scheduler.core.matching import in_full, is_reserved_from
from scheduler.core.platforms import canonical_arch, canonical_os
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import QueueEntry

Check = Callable[[QueueEntry, WorkerFacts], Iterator[Reason]]


def is_in_a_tier(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Its origin is the target or one of the fallbacks."""
    tiers = entry.spec.tiers
    if worker.origin not in tiers:
        yield Reason(
            code=Code.TARGET, field="target", required=tuple(tier.value for tier in tiers), actual=worker.origin.value
        )


def is_of_the_provider(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Its provider is the one asked for, in any letter case."""
    yield from _named(Code.PROVIDER, "placement.provider", entry.spec.placement.provider, worker.provider, str.casefold)


def is_in_the_region(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Its region is the one asked for, in any letter case."""
    yield from _named(Code.REGION, "placement.region", entry.spec.placement.region, worker.region, str.casefold)


def is_pinned(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It is among the workers named, if any are."""
    wanted = entry.spec.placement.worker_ids
    if wanted and worker.id not in wanted:
        yield Reason(code=Code.NOT_PINNED, field="placement.worker_ids", required=wanted)


def has_the_labels(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It carries each label with exactly the value asked for; one reason for each that it doesn't."""
    wanted = entry.spec.placement.worker_labels
    has = dict(worker.labels) if wanted else {}
    for key, value in wanted:
        if has.get(key) != value:
            yield Reason(
                code=Code.LABEL, field="placement.worker_labels", required=value, actual=has.get(key), subject=key
            )


def is_not_reserved_for_another(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It is not set aside, with no end, for somebody else."""
    held_for = worker.reserved_for
    if held_for is not None and worker.reserved_until is None and is_reserved_from(entry, held_for):
        yield Reason(code=Code.RESERVED, field="placement", actual=in_full(held_for), holders=(in_full(held_for),))


def has_the_os(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It runs the operating system asked for, under any of its names."""
    yield from _named(Code.OS, "resources.os", entry.spec.resources.os, worker.os, canonical_os)


def has_the_arch(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Its processors are of the architecture asked for, under any of its names."""
    yield from _named(Code.ARCH, "resources.arch", entry.spec.resources.arch, worker.arch, canonical_arch)


def has_the_cpu_cores(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has that many cores in all."""
    asked = entry.spec.resources.cpu_millicores
    yield from _at_least(Code.CPU_CORES, "resources.cpu_cores", asked, worker.cpu_millicores)


def has_the_memory(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has that much RAM in all."""
    yield from _at_least(Code.MEMORY, "resources.memory_gb", entry.spec.resources.memory_bytes, worker.memory_bytes)


def has_the_disk(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has that much disk for jobs in all."""
    yield from _at_least(Code.DISK, "resources.disk_gb", entry.spec.resources.disk_bytes, worker.disk_bytes)


def _named(
    code: Code, field: str, required: str | None, actual: str | None, spelling: Callable[[str], str]
) -> Iterator[Reason]:
    if required is not None and (actual is None or spelling(actual) != spelling(required)):
        yield Reason(code=code, field=field, required=required, actual=actual, unknown=actual is None)


def _at_least(code: Code, field: str, required: int | None, actual: int | None) -> Iterator[Reason]:
    if required is not None and (actual is None or actual < required):
        yield Reason(code=code, field=field, required=required, actual=actual, unknown=actual is None, enough_at=actual)


CAPABILITY: dict[Code, Check] = {
    Code.TARGET: is_in_a_tier,
    Code.PROVIDER: is_of_the_provider,
    Code.REGION: is_in_the_region,
    Code.NOT_PINNED: is_pinned,
    Code.LABEL: has_the_labels,
    Code.RESERVED: is_not_reserved_for_another,
    Code.OS: has_the_os,
    Code.ARCH: has_the_arch,
    Code.CPU_CORES: has_the_cpu_cores,
    Code.MEMORY: has_the_memory,
    Code.DISK: has_the_disk,
    Code.ENVIRONMENT: software.has_the_environment,
    Code.PYTHON: software.has_the_python,
    Code.FRAMEWORK: software.has_the_frameworks,
    Code.SUPPORT_MATRIX: is_a_supported_combination,
    Code.GPU_COUNT: devices.has_enough_devices,
    Code.GPU_MIG: devices.has_enough_whole_devices,
    Code.GPU_ACCELERATOR: devices.has_enough_of_the_accelerator,
    Code.GPU_MODEL: devices.has_enough_of_the_model,
    Code.GPU_MEMORY: devices.has_enough_with_the_memory,
    Code.GPU_MEMORY_KIND: devices.has_enough_with_the_memory_kind,
    Code.GPU_COMPUTE_CAPABILITY: devices.has_enough_with_the_compute_capability,
    Code.GPU_COMBINATION: devices.has_enough_with_all_of_it,
    Code.DIST_LAUNCHER: software.has_the_launcher,
    Code.DIST_BACKEND: software.has_the_backend,
    Code.DIST_TORCH: software.has_torch,
    Code.DIST_ADDRESS: software.has_an_address,
    Code.DIST_PROCS: software.has_a_core_per_process,
}
"""In the order in which they are asked, each by the one code of its reasons."""
