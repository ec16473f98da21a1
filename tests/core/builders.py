"""Workers, devices and jobs in a dozen characters: a test says only what it is about, the rest is a sane default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scheduler.core.fleet import DeviceView, EnvironmentView, TaskLoad, WorkerFacts, WorkerView
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

GB = 10**9
MIB = 2**20

MODELS = {  # as their drivers report them
    "T4": DeviceView(index=0, model="Tesla T4", memory_bytes=15360 * MIB, compute_capability="7.5"),
    "L4": DeviceView(index=0, model="NVIDIA L4", memory_bytes=23034 * MIB, compute_capability="8.9"),
    "4090": DeviceView(
        index=0, model="NVIDIA GeForce RTX 4090", memory_bytes=24564 * MIB, compute_capability="8.9"
    ),
    "A100": DeviceView(index=0, model="NVIDIA A100-SXM4-80GB", memory_bytes=81920 * MIB, compute_capability="8.0"),
    "H100": DeviceView(index=0, model="NVIDIA H100 80GB HBM3", memory_bytes=81559 * MIB, compute_capability="9.0"),
    "MI300": DeviceView(
        index=0, model="AMD Instinct MI300X", memory_bytes=196592 * MIB, kind=Accelerator.ROCM,
        compute_capability="9.4",
    ),
    "?": DeviceView(index=0),
}  # fmt: skip


def devices(text: str = "A100", **facts: object) -> tuple[DeviceView, ...]:
    """`2xT4+A100` -> two T4 and an A100, numbered from 0, all with the given facts."""
    cards = [name for part in text.split("+") if part for name in _repeated(part)]
    return tuple(_device(index, MODELS[name], facts) for index, name in enumerate(cards))


def _repeated(part: str) -> list[str]:
    count, _, name = part.rpartition("x")
    return [name] * int(count or 1)


def _device(index: int, model: DeviceView, facts: dict[str, object]) -> DeviceView:
    known = replace(
        model, index=index, uuid=f"GPU-{index}", mig=False, healthy=True, foreign_memory_bytes=0,
        kind=model.kind or Accelerator.CUDA, memory_kind=MemoryKind.DEDICATED,
    )  # fmt: skip
    return replace(known, **facts)  # type: ignore[arg-type]


def with_device(cards: tuple[DeviceView, ...], index: int, **facts: object) -> tuple[DeviceView, ...]:
    """The same devices, but for what is said of one of them."""
    return tuple(replace(card, **facts) if card.index == index else card for card in cards)  # type: ignore[arg-type]


def an_environment(
    torch: str | None = "2.6.0+cu124", python: str | None = "3.11.9", **facts: object
) -> EnvironmentView:
    """An environment with torch, or without where it is None."""
    frameworks = (("torch", torch),) if torch is not None else ()
    said = {"frameworks": frameworks, "launchers": ("torchrun",), "comm_backends": ("gloo", "nccl")} | facts
    return EnvironmentView(python=python, **said)  # type: ignore[arg-type]


STATE = ("online", "draining", "unhealthy", "state_note", "state_since")


def a_worker(
    id: str = "w1",
    *,
    gpus: str | tuple[DeviceView, ...] | None = "A100",
    origin: str = "local",
    labels: dict[str, str] | None = None,
    environment: EnvironmentView | None = None,
    environments: dict[str, EnvironmentView] | None = None,
    busy: Iterable[int] = (),
    tasks: tuple[TaskLoad, ...] = (),
    **facts: object,
) -> WorkerView:
    """One online Linux host with 64 cores, 512 GB of RAM and one free A100; `busy` devices are held by job `j-0`."""
    state = {name: facts.pop(name) for name in STATE if name in facts}
    named = {"default": environment or an_environment()} | (environments or {})
    defaults: dict[str, object] = {
        "os": "linux", "arch": "x86_64", "cpu_millicores": 64_000, "memory_bytes": 512 * GB, "disk_bytes": 2000 * GB,
        "driver": "550.54.15", "advertise_address": f"{id}.internal",
    }  # fmt: skip
    held = tuple(TaskLoad(job_id="j-0", devices=(index,)) for index in busy)
    return WorkerView(
        facts=WorkerFacts(
            id=id, origin=Origin(origin), devices=devices(gpus) if isinstance(gpus, str) else gpus,
            labels=tuple(sorted((labels or {}).items())), environments=tuple(named.items()), **(defaults | facts),
        ),  # type: ignore[arg-type]
        tasks=(*held, *tasks),
        **state,  # type: ignore[arg-type]
    )  # fmt: skip


RESOURCES = {
    "cores": "cpu_millicores", "memory": "memory_bytes", "disk": "disk_bytes", "os": "os", "arch": "arch",
    "gpus": "gpus", "accelerator": "accelerator", "models": "gpu_models", "gpu_memory": "gpu_memory_bytes",
    "memory_kind": "gpu_memory_kind", "capability": "compute_capability",
}  # fmt: skip


def a_job(
    id: str = "j-1",
    *,
    target: str = "local",
    fallback: Iterable[str] = (),
    fallback_when: str = "unavailable",
    policy: Policy = Policy.FIRST_FIT,
    labels: dict[str, str] | None = None,
    workers: Iterable[str] = (),
    environment: str = "default",
    frameworks: dict[str, str] | None = None,
    python: str | None = None,
    gang: int | None = None,
    procs: int = 1,
    launcher: str | None = None,
    backend: str | None = None,
    holders: Iterable[str] = (),
    failed_on: Iterable[str] = (),
    **asked: object,
) -> QueueEntry:
    """A local job that asks for nothing else; `gang` makes it distributed over that many workers."""
    place = {name: asked.pop(name) for name in ("provider", "region") if name in asked}
    spec = JobSpec(
        name=id, command=("true",), target=Origin(target), fallback_targets=tuple(map(Origin, fallback)),
        fallback_when=FallbackWhen(fallback_when), policy=policy,
        placement=Placement(
            worker_ids=tuple(workers), worker_labels=tuple(sorted((labels or {}).items())), **place
        ),  # type: ignore[arg-type]
        resources=Resources(**{RESOURCES[name]: value for name, value in asked.items()}),  # type: ignore[arg-type]
        runtime=Runtime(
            environment=environment, environment_stated=environment != "default", python=python,
            frameworks=tuple(sorted((frameworks or {}).items())),
        ),
        distributed=Distributed(num_workers=gang, procs_per_worker=procs, launcher=launcher, comm_backend=backend)
        if gang
        else None,
    )  # fmt: skip
    return QueueEntry(job_id=id, spec=spec, holders=tuple(holders), failed_on=tuple(failed_on))
