"""What each check requires, in a few words: for the rows of a matrix and the column "required"."""

from __future__ import annotations

from scheduler.core.labels import check_label
from scheduler.core.quantities import cores, size
from scheduler.core.reasons import Code
from scheduler.core.spec import JobSpec
from scheduler.core.words import capability, counted, either, lasting, names, value


def required(code: Code, spec: JobSpec, subject: str | None = None) -> str:
    """The value that a job requires; empty where it states none. `subject` is one label or framework of several."""
    if code is Code.LABEL:
        return names(f"{key}={value(text)}" for key, text in _one_of(spec.placement.worker_labels, subject))
    if code is Code.FRAMEWORK:
        return names(f"{name} {rule or 'any version'}" for name, rule in _one_of(spec.runtime.frameworks, subject))
    return _of_devices(code, spec) or _of_host(code, spec) or _of_gang(code, spec) or _of_load(code, spec)


def requirement_label(code: Code, spec: JobSpec, subject: str | None = None) -> str:
    """The check and what it requires: `RAM ≥ 128 GB`, `label zone=a`, `devices free`."""
    text = required(code, spec, subject)
    if code in (Code.GPU_COUNT, Code.DIST_PROCS):
        return text
    if code is Code.FRAMEWORK:
        return text or check_label(code)
    return f"{check_label(code)} {text}".strip() if code in _SAYS_MORE else check_label(code)


def field_of(code: Code) -> str:
    """The place in a job's document of what a check asks for; empty where it asks the same of every job."""
    return _FIELDS.get(code, "")


_FIELDS: dict[Code, str] = {
    Code.TARGET: "target",
    Code.PROVIDER: "placement.provider",
    Code.REGION: "placement.region",
    Code.NOT_PINNED: "placement.worker_ids",
    Code.LABEL: "placement.worker_labels",
    Code.OS: "resources.os",
    Code.ARCH: "resources.arch",
    Code.CPU_CORES: "resources.cpu_cores",
    Code.MEMORY: "resources.memory_gb",
    Code.DISK: "resources.disk_gb",
    Code.ENVIRONMENT: "runtime.environment",
    Code.PYTHON: "runtime.python",
    Code.FRAMEWORK: "runtime.frameworks",
    Code.GPU_COUNT: "resources.gpus",
    Code.GPU_MIG: "resources.gpus",
    Code.GPU_ACCELERATOR: "resources.accelerator",
    Code.GPU_MODEL: "resources.gpu_models",
    Code.GPU_MEMORY: "resources.gpu_memory_gb",
    Code.GPU_MEMORY_KIND: "resources.gpu_memory_kind",
    Code.GPU_COMPUTE_CAPABILITY: "resources.compute_capability",
    Code.GPU_COMBINATION: "resources.gpus",
    Code.DIST_LAUNCHER: "distributed.launcher",
    Code.DIST_BACKEND: "distributed.comm_backend",
    Code.DIST_TORCH: "distributed",
    Code.DIST_ADDRESS: "distributed",
    Code.DIST_PROCS: "distributed.procs_per_worker",
    Code.NOT_RESERVED: "placement.reserved_only",
    Code.FAILED_HERE: "retries",
    Code.TIER_CLOSED: "fallback_when",
    Code.CPU_IN_USE: "resources.cpu_cores",
    Code.MEMORY_IN_USE: "resources.memory_gb",
    Code.DISK_IN_USE: "resources.disk_gb",
    Code.GPU_UNHEALTHY: "resources.gpus",
    Code.GPU_RESERVED: "resources.gpus",
    Code.GPU_RESERVED_FROM: "resources.gpus",
    Code.GPU_NOT_RESERVED: "resources.gpus",
    Code.GPU_FOREIGN: "resources.gpus",
    Code.GPU_IN_USE: "resources.gpus",
}

_SAYS_MORE = frozenset(
    {Code.TARGET, Code.PROVIDER, Code.REGION, Code.LABEL, Code.OS, Code.ARCH, Code.CPU_CORES, Code.MEMORY, Code.DISK}
    | {Code.ENVIRONMENT, Code.PYTHON, Code.GPU_ACCELERATOR, Code.GPU_MODEL, Code.GPU_MEMORY, Code.GPU_MEMORY_KIND}
    | {Code.GPU_COMPUTE_CAPABILITY, Code.DIST_LAUNCHER, Code.DIST_BACKEND, Code.NOT_PINNED}
)


def _one_of(pairs: tuple[tuple[str, str], ...], subject: str | None) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in pairs if subject is None or pair[0] == subject)


def _of_devices(code: Code, spec: JobSpec) -> str:
    asked = spec.resources
    on = f" on {counted(asked.gpus, 'device')}"
    texts = {
        Code.GPU_COUNT: counted(asked.gpus, "GPU"),
        Code.GPU_MIG: counted(asked.gpus, "whole GPU"),
        Code.GPU_COMBINATION: f"all of it{on} of one kind",
        Code.SUPPORT_MATRIX: "a supported combination",
    }
    if asked.accelerator is not None:
        texts[Code.GPU_ACCELERATOR] = f"{asked.accelerator}{on}"
    if asked.gpu_models:
        texts[Code.GPU_MODEL] = f"{either(asked.gpu_models)}{on}"
    if asked.gpu_memory_bytes is not None:
        texts[Code.GPU_MEMORY] = f"≥ {size(asked.gpu_memory_bytes)}{on}"
    if asked.gpu_memory_kind is not None:
        texts[Code.GPU_MEMORY_KIND] = f"{asked.gpu_memory_kind}{on}"
    if asked.compute_capability is not None:
        texts[Code.GPU_COMPUTE_CAPABILITY] = f"{capability(asked.compute_capability)}{on}"
    return texts.get(code, "") if asked.gpus else ""


def _of_host(code: Code, spec: JobSpec) -> str:
    asked, place, runtime = spec.resources, spec.placement, spec.runtime
    texts = {
        Code.TARGET: either(spec.tiers),
        Code.PROVIDER: place.provider,
        Code.REGION: place.region,
        Code.NOT_PINNED: names(place.worker_ids),
        Code.RESERVED: "not reserved for others",
        Code.OS: asked.os,
        Code.ARCH: asked.arch,
        Code.CPU_CORES: None if asked.cpu_millicores is None else f"≥ {cores(asked.cpu_millicores)}",
        Code.MEMORY: None if asked.memory_bytes is None else f"≥ {size(asked.memory_bytes)}",
        Code.DISK: None if asked.disk_bytes is None else f"≥ {size(asked.disk_bytes)}",
        Code.ENVIRONMENT: runtime.environment,
        Code.PYTHON: runtime.python,
    }
    return texts.get(code) or ""


def _of_gang(code: Code, spec: JobSpec) -> str:
    gang = spec.distributed
    if gang is None:
        return ""
    texts = {
        Code.DIST_LAUNCHER: gang.launcher,
        Code.DIST_BACKEND: gang.comm_backend,
        Code.DIST_TORCH: "a known torch version",
        Code.DIST_ADDRESS: "an advertise_address",
        Code.DIST_PROCS: f"a core for each of {counted(gang.procs_per_worker, 'process', 'processes')}",
    }
    return texts.get(code) or ""


def _of_load(code: Code, spec: JobSpec) -> str:
    asked = spec.resources
    free = f"{asked.gpus:,} free" if asked.gpus else ""
    texts = {
        Code.OFFLINE: "online",
        Code.DRAINING: "takes new jobs",
        Code.UNHEALTHY: "healthy",
        Code.RESERVED_UNTIL: "not reserved for others",
        Code.RESERVED_FROM: "over before" if spec.limit_s is None else f"over before, within {lasting(spec.limit_s)}",
        Code.NOT_RESERVED: "reserved for it" if spec.placement.reserved_only else None,
        Code.FAILED_HERE: "did not fail here",
        Code.TIER_CLOSED: "an open target",
        Code.SLOTS: "a free task slot",
        Code.CPU_IN_USE: None if asked.cpu_millicores is None else f"{cores(asked.cpu_millicores)} left",
        Code.MEMORY_IN_USE: None if asked.memory_bytes is None else f"{size(asked.memory_bytes)} left",
        Code.DISK_IN_USE: None if asked.disk_bytes is None else f"{size(asked.disk_bytes)} left",
        Code.GPU_UNHEALTHY: free,
        Code.GPU_RESERVED: free,
        Code.GPU_RESERVED_FROM: free,
        Code.GPU_NOT_RESERVED: free,
        Code.GPU_FOREIGN: free,
        Code.GPU_IN_USE: free,
    }
    return texts.get(code) or ""
