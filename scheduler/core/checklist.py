"""One job against one worker, check by check: passed, failed, or not asked and why not."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from scheduler.core.availability import AVAILABILITY, Setting
from scheduler.core.capability import CAPABILITY
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Code, Kind, Reason
from scheduler.core.spec import QueueEntry
from scheduler.core.windows import view_at

NOT_ABLE = "availability is asked only of workers that can run the job"
NOT_STATED = "the job does not ask for it"


class Status(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Check:
    """One check and what came of it."""

    code: Code
    status: Status
    reasons: tuple[Reason, ...] = ()
    why_not_asked: str = ""


def checklist(entry: QueueEntry, worker: WorkerView) -> tuple[Check, ...]:
    """Every check in the order in which they are asked, for this worker alone, as if no other existed."""
    worker = view_at(worker, worker.at)
    never = compatibility_reasons(entry, worker)
    reasons = never or availability_reasons(entry, worker, Setting())
    failed = {reason.code for reason in reasons}
    return tuple(_check(code, entry, reasons, failed) for code in CHECKED)


def _check(code: Code, entry: QueueEntry, reasons: tuple[Reason, ...], failed: Collection[Code]) -> Check:
    if code in failed:
        return Check(code, Status.FAILED, tuple(reason for reason in reasons if reason.code is code))
    why_not = why_not_asked(code, entry, failed)
    return Check(code, Status.NOT_ASKED, why_not_asked=why_not) if why_not else Check(code, Status.PASSED)


def why_not_asked(code: Code, entry: QueueEntry, failed: Collection[Code]) -> str | None:
    """Why a check was not asked of a worker that failed these others; None where it was asked."""
    if code.kind is Kind.AVAILABILITY and any(other.kind is Kind.CAPABILITY for other in failed):
        return NOT_ABLE
    if code.text.startswith("dist_") and entry.spec.distributed is None:
        return "asked only of distributed jobs"
    if (code.text.startswith("gpu_") or code is Code.SUPPORT_MATRIX) and not entry.spec.resources.gpus:
        return "the job asks for no GPU"
    if not _STATED.get(code, _always)(entry):
        return NOT_STATED
    return _for_lack_of_another(code, failed)


def _for_lack_of_another(code: Code, failed: Collection[Code]) -> str | None:
    if code in _IN_ENVIRONMENT and Code.ENVIRONMENT in failed:
        return "the environment is missing"
    if code in _OF_DEVICES and Code.GPU_COUNT in failed:
        return "too few devices"
    if code in _OF_DEVICES and code is not Code.GPU_MIG and Code.GPU_MIG in failed:
        return "too few whole devices"
    if code is Code.GPU_COMBINATION and not _OF_DEVICES.isdisjoint(failed):
        return "one requirement alone is already not met"
    return None


def _always(entry: QueueEntry) -> bool:
    return True


CHECKED: tuple[Code, ...] = (*CAPABILITY, *AVAILABILITY)
_IN_ENVIRONMENT = frozenset((Code.PYTHON, Code.FRAMEWORK, Code.DIST_LAUNCHER, Code.DIST_BACKEND, Code.DIST_TORCH))
_OF_DEVICES = frozenset(code for code in CAPABILITY if code.text.startswith("gpu_")) - {Code.GPU_COUNT}
_STATED: dict[Code, Callable[[QueueEntry], object]] = {
    Code.PROVIDER: lambda entry: entry.spec.placement.provider,
    Code.REGION: lambda entry: entry.spec.placement.region,
    Code.NOT_PINNED: lambda entry: entry.spec.placement.worker_ids,
    Code.LABEL: lambda entry: entry.spec.placement.worker_labels,
    Code.OS: lambda entry: entry.spec.resources.os,
    Code.ARCH: lambda entry: entry.spec.resources.arch,
    Code.CPU_CORES: lambda entry: entry.spec.resources.cpu_millicores is not None,
    Code.MEMORY: lambda entry: entry.spec.resources.memory_bytes is not None,
    Code.DISK: lambda entry: entry.spec.resources.disk_bytes is not None,
    Code.PYTHON: lambda entry: entry.spec.runtime.python is not None,
    Code.FRAMEWORK: lambda entry: entry.spec.runtime.frameworks,
    Code.GPU_ACCELERATOR: lambda entry: entry.spec.resources.accelerator,
    Code.GPU_MODEL: lambda entry: entry.spec.resources.gpu_models,
    Code.GPU_MEMORY: lambda entry: entry.spec.resources.gpu_memory_bytes is not None,
    Code.GPU_MEMORY_KIND: lambda entry: entry.spec.resources.gpu_memory_kind,
    Code.GPU_COMPUTE_CAPABILITY: lambda entry: entry.spec.resources.compute_capability is not None,
    Code.DIST_LAUNCHER: lambda entry: entry.spec.distributed and entry.spec.distributed.launcher,
    Code.DIST_BACKEND: lambda entry: entry.spec.distributed and entry.spec.distributed.comm_backend,
    Code.NOT_RESERVED: lambda entry: entry.spec.placement.reserved_only,
    Code.GPU_NOT_RESERVED: lambda entry: entry.spec.placement.reserved_only,
    Code.FAILED_HERE: lambda entry: entry.failed_on,
    Code.CPU_IN_USE: lambda entry: entry.spec.resources.cpu_millicores is not None,
    Code.MEMORY_IN_USE: lambda entry: entry.spec.resources.memory_bytes is not None,
    Code.DISK_IN_USE: lambda entry: entry.spec.resources.disk_bytes is not None,
}
"""Whether the job states what the check asks; a check that is not here is asked of every job."""
