"""Random jobs that ask for much, and fleets that are busy: something always stands in the way, often several things."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from scheduler.core.edits import without_devices
from scheduler.core.fleet import TaskLoad, WorkerView
from scheduler.core.spec import (
    Accelerator,
    Distributed,
    FallbackWhen,
    JobSpec,
    MemoryKind,
    Origin,
    Placement,
    Policy,
    QueueEntry,
    Resources,
    Runtime,
)
from tests.core.strategies import GB, Choices, a_random_fleet, a_random_queue, a_random_spec, coin, dice, odd

ASKED: Choices = {
    "os": ("linux", "macos"), "arch": ("x86_64", "arm64"), "cpu_millicores": (2000, 6000, 16_000),
    "memory_bytes": (30 * GB, 65 * GB), "disk_bytes": (40 * GB, 200 * GB),
    "accelerator": (Accelerator.CUDA, Accelerator.ROCM), "gpu_memory_bytes": (40 * GB, 90 * GB),
    "gpu_models": (("NVIDIA H*",), ("tesla t4", "x")), "gpu_memory_kind": (MemoryKind.DEDICATED, MemoryKind.UNIFIED),
    "compute_capability": (">=8.0", ">=9.0,<11", "==7.5"),
}  # fmt: skip
PLACED: Choices = {
    "provider": ("AWS",), "region": ("EU", "us"), "worker_ids": (("w1", "a", "w99"), ("w99",)),
    "worker_labels": ((("zone", "a"),), (("rack", "7"), ("zone", "a")), (("zone", "c"),)),
}  # fmt: skip
INSTALLED: Choices = {
    "environment": ("train", "trian"), "python": (">=3.10", ">=3.12", "==3.9.*"),
    "frameworks": ((("torch", ">=2.7"),), (("jax", ""), ("torch", "==2.6.*")), (("torch", "==2.4.1"),)),
}  # fmt: skip


def a_demanding_spec(dice: Random) -> JobSpec:
    """A job that states up to eight requirements."""
    spec = replace(
        a_random_spec(dice),
        placement=Placement(**odd(dice, PLACED, 1)),  # type: ignore[arg-type]
        resources=Resources(gpus=dice.randint(0, 4), **odd(dice, ASKED, 4)),  # type: ignore[arg-type]
        runtime=Runtime(environment_stated=True, **odd(dice, INSTALLED, 2)),  # type: ignore[arg-type]
    )
    return spec if spec.resources.gpus else without_devices(spec)


def a_demanding_job(dice: Random) -> QueueEntry:
    """The same as an entry of a queue."""
    return QueueEntry(
        job_id="j-1", spec=a_demanding_spec(dice), holders=dice.choice(((), ("user:mira",))),
        failed_on=dice.choice(((), (), ("a",))),
    )  # fmt: skip


def an_ordinary_job(dice: Random) -> QueueEntry:
    """As other tests have them, as a document would say it."""
    (job,) = a_random_queue(dice, longest=1)
    stated = replace(job.spec.runtime, environment_stated=job.spec.runtime.environment != "default")
    spec = replace(job.spec, runtime=stated)
    return replace(job, spec=spec if spec.resources.gpus else without_devices(spec))


def a_gang(dice: Random) -> QueueEntry:
    """A distributed job that asks for little else."""
    gang = Distributed(num_workers=dice.randint(2, 4), procs_per_worker=1)
    spec = JobSpec(
        name="gang", command=("true",), target=Origin.LOCAL, distributed=gang, policy=dice.choice(tuple(Policy)),
        fallback_when=dice.choice(tuple(FallbackWhen)), fallback_targets=dice.choice(((), (Origin.REMOTE,))),
        resources=Resources(gpus=dice.randint(0, 1)),
    )  # fmt: skip
    return QueueEntry(job_id="j-1", spec=spec)


def a_busy_fleet(dice: Random) -> tuple[WorkerView, ...]:
    """Ordinary workers of several torch versions, most of them with more tasks on them."""
    return tuple(_busy(dice, _with_some_torch(dice, view)) for view in a_random_fleet(dice))


def _busy(dice: Random, view: WorkerView) -> WorkerView:
    if coin(dice, 3):
        return view
    indices = [device.index for device in view.facts.devices or ()]
    held = tuple(sorted(dice.sample(indices, dice.randint(0, len(indices)))))
    load = TaskLoad(job_id=f"t-{view.id}", devices=held, cpu_millicores=dice.choice((0, 3000, 5000)),
                    memory_bytes=dice.choice((0, 40 * GB)))  # fmt: skip
    return replace(view, facts=replace(view.facts, max_concurrent_tasks=dice.choice((1, 8, 8))), tasks=(load,))


def _with_some_torch(dice: Random, view: WorkerView) -> WorkerView:
    torch = dice.choice(("2.6.0+cu124", "2.6.0+cu124", "2.5.1+cu124", "2.6.0+cu126"))
    environments = tuple(
        (name, replace(environment, frameworks=(("torch", torch),))) for name, environment in view.facts.environments
    )
    return replace(view, facts=replace(view.facts, environments=environments))


demanding_jobs = dice.map(a_demanding_job) | dice.map(an_ordinary_job) | dice.map(a_gang)
crowded_fleets: st.SearchStrategy[tuple[WorkerView, ...]] = dice.map(a_random_fleet) | dice.map(a_busy_fleet)
