"""`JobSpec` -> its canonical document, which says only what differs from the defaults."""

from __future__ import annotations

from typing import Any

from scheduler.core.quantities import GB, cores_document, size_document
from scheduler.core.spec import Distributed, JobSpec, Placement, Resources, Retries, Runtime

Document = dict[str, Any]


def job_to_document(spec: JobSpec, *, with_secrets: bool = False) -> Document:
    """The document from which `parse_job` makes this spec again; without its secrets unless they are asked for."""
    defaults = JobSpec(name=spec.name, command=spec.command, target=spec.target)
    changed = {
        name: str(getattr(spec, name))
        for name in ("fallback_when", "on_unschedulable", "policy")
        if getattr(spec, name) != getattr(defaults, name)
    }
    return _stated(
        name=spec.name,
        command=list(spec.command),
        files=spec.files,
        workdir=spec.workdir,
        env=dict(spec.env),
        secrets=dict(spec.secrets) if with_secrets else None,
        target=str(spec.target),
        fallback_targets=[str(target) for target in spec.fallback_targets],
        **changed,
        placement=_placement(spec.placement),
        resources=_resources(spec.resources),
        runtime=_runtime(spec.runtime),
        distributed=_distributed(spec.distributed),
        retries=_retries(spec.retries),
        timeout_s=spec.timeout_s,
        hold_s=spec.hold_s,
    )


def left_to_defaults(spec: JobSpec) -> Document:
    """What the document leaves out because it is usual, and what holds then."""
    usual = JobSpec(name=spec.name, command=spec.command, target=spec.target)
    several = bool(spec.fallback_targets)
    retries = {"max": usual.retries.max, "on": [str(after) for after in usual.retries.on]}
    return _stated(
        fallback_when=str(usual.fallback_when) if several and spec.fallback_when == usual.fallback_when else None,
        on_unschedulable=str(usual.on_unschedulable) if spec.on_unschedulable == usual.on_unschedulable else None,
        policy=str(usual.policy) if spec.policy == usual.policy else None,
        resources={"gpus": usual.resources.gpus} if not spec.resources.gpus else None,
        runtime=None if spec.runtime.environment_stated else {"environment": spec.runtime.environment},
        retries=retries if spec.retries == Retries() and spec.hold_s is None else None,
    )


def _stated(**fields: object) -> Document:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value is not None and value != [] and value != {}}


def _placement(placement: Placement) -> Document:
    return _stated(
        provider=placement.provider,
        region=placement.region,
        worker_ids=list(placement.worker_ids),
        worker_labels=dict(placement.worker_labels),
        reserved_only=placement.reserved_only or None,
    )


def _resources(asked: Resources) -> Document:
    return _stated(
        os=asked.os,
        arch=asked.arch,
        cpu_cores=None if asked.cpu_millicores is None else cores_document(asked.cpu_millicores),
        memory_gb=_gigabytes(asked.memory_bytes),
        disk_gb=_gigabytes(asked.disk_bytes),
        gpus=asked.gpus or None,
        accelerator=asked.accelerator and str(asked.accelerator),
        gpu_models=list(asked.gpu_models),
        gpu_memory_gb=_gigabytes(asked.gpu_memory_bytes),
        gpu_memory_kind=asked.gpu_memory_kind and str(asked.gpu_memory_kind),
        compute_capability=asked.compute_capability,
    )


def _gigabytes(size: int | None) -> int | str | None:
    """Whole gigabytes as the number they are, anything else exactly with its unit."""
    if size is None:
        return None
    whole, rest = divmod(size, GB)
    return size_document(size) if rest else whole


def _runtime(runtime: Runtime) -> Document:
    return _stated(
        environment=runtime.environment if runtime.environment_stated else None,
        python=runtime.python,
        frameworks=dict(runtime.frameworks),
    )


def _distributed(gang: Distributed | None) -> Document | None:
    if gang is None:
        return None
    return _stated(
        num_workers=gang.num_workers,
        procs_per_worker=gang.procs_per_worker,
        launcher=gang.launcher,
        comm_backend=gang.comm_backend,
    )


def _retries(retries: Retries) -> Document | None:
    if retries == Retries():
        return None
    return _stated(max=retries.max, lease_s=retries.lease_s) | {"on": [str(after) for after in retries.on]}
