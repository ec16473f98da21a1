"""What a job asks for, in words."""

from __future__ import annotations

from scheduler.core.quantities import cores, size
from scheduler.core.reasons import Code
from scheduler.core.spec import JobSpec
from scheduler.core.words import both, capability, counted, either, names


def asks_for(spec: JobSpec) -> str:
    """What a job asks of its workers: `2 GPUs, ≥ 40 GB each, compute capability ≥ 8.0, RAM ≥ 128 GB`."""
    asked = spec.resources
    parts = [*_devices(spec)]
    if asked.cpu_millicores is not None:
        parts.append(_cores(asked.cpu_millicores))
    if asked.memory_bytes is not None:
        parts.append(f"RAM ≥ {size(asked.memory_bytes)}")
    if asked.disk_bytes is not None:
        parts.append(f"disk ≥ {size(asked.disk_bytes)}")
    parts += [name for name in (asked.os, asked.arch) if name]
    text = ", ".join(parts) or "no GPU"
    return f"{counted(spec.distributed.num_workers, 'worker')} × {text}" if spec.distributed else text


def _devices(spec: JobSpec) -> list[str]:
    asked = spec.resources
    if not asked.gpus:
        return []
    parts = [counted(asked.gpus, f"{asked.accelerator} GPU" if asked.accelerator else "GPU")]
    if asked.gpu_models:
        parts.append(either(asked.gpu_models))
    if asked.gpu_memory_bytes is not None:
        parts.append(f"≥ {size(asked.gpu_memory_bytes)} each")
    if asked.gpu_memory_kind:
        parts.append(f"{asked.gpu_memory_kind} memory")
    if asked.compute_capability is not None:
        parts.append(f"compute capability {capability(asked.compute_capability)}")
    return parts


def _cores(millicores: int) -> str:
    return f"{cores(millicores)} CPU {'core' if millicores == 1000 else 'cores'}"


def wanted(code: Code, spec: JobSpec) -> str:
    """What a worker has that does not fail this check: `no worker has …`, `12 workers lack only …`."""
    asked, gpus = spec.resources, counted(spec.resources.gpus, "GPU")
    of_devices = {
        Code.GPU_COUNT: gpus,
        Code.GPU_MIG: counted(asked.gpus, "whole GPU"),
        Code.GPU_ACCELERATOR: counted(asked.gpus, f"{asked.accelerator} GPU"),
        Code.GPU_MODEL: f"{gpus} of the model {either(asked.gpu_models or ('',))}",
        Code.GPU_MEMORY: f"{gpus} with ≥ {size(asked.gpu_memory_bytes or 0)} each",
        Code.GPU_MEMORY_KIND: f"{gpus} with {asked.gpu_memory_kind} memory",
        Code.GPU_COMPUTE_CAPABILITY: f"{gpus} of compute capability {capability(asked.compute_capability)}",
        Code.GPU_COMBINATION: f"{gpus} of one kind that each meet every requirement",
    }
    return of_devices.get(code) or _of_the_host(code, spec)


def _of_the_host(code: Code, spec: JobSpec) -> str:
    asked, runtime, gang = spec.resources, spec.runtime, spec.distributed
    labels = [f"{key}={value}" for key, value in spec.placement.worker_labels]
    return {
        Code.TARGET: f"the origin {either(spec.tiers)}",
        Code.PROVIDER: f"the provider {spec.placement.provider}",
        Code.REGION: f"the region {spec.placement.region}",
        Code.NOT_PINNED: f"a name that is pinned ({names(spec.placement.worker_ids)})",
        Code.LABEL: f"the {'label' if len(labels) == 1 else 'labels'} {both(labels or [''])}",
        Code.RESERVED: "a place that is not reserved for others",
        Code.OS: f"the OS {asked.os}",
        Code.ARCH: f"the CPU architecture {asked.arch}",
        Code.CPU_CORES: _cores(asked.cpu_millicores or 0),
        Code.MEMORY: f"{size(asked.memory_bytes or 0)} of RAM",
        Code.DISK: f"{size(asked.disk_bytes or 0)} of disk",
        Code.ENVIRONMENT: f"an environment {runtime.environment}",
        Code.PYTHON: f"Python {runtime.python or 'of a known version'}",
        Code.FRAMEWORK: both([f"{name} {rule}".strip() for name, rule in runtime.frameworks] or [""]),
        Code.SUPPORT_MATRIX: "a supported combination of GPU, driver and framework",
        Code.DIST_LAUNCHER: f"the launcher {gang and gang.launcher}",
        Code.DIST_BACKEND: f"the communication backend {gang and gang.comm_backend}",
        Code.DIST_TORCH: "a known torch version",
        Code.DIST_ADDRESS: "an advertise_address",
        Code.DIST_PROCS: f"a CPU core for each of {gang.procs_per_worker if gang else 1:,} processes",
    }[code]
