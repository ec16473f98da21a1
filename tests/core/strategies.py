"""Random fleets and queues: ordinary ones with a few oddities each, of few values, so that much is alike.

Hypothesis draws the seeds; dice of our own make the rest, so that every kind of outcome comes up often.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import strategies as st

from scheduler.core.fleet import DeviceView, EnvironmentView, TaskLoad, TorchBuild, Window, WorkerFacts, WorkerView
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
IDS = ("a", "b", "w1", "w10", "w2", "x", "y", "z")
UNTIL = datetime(2026, 12, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
Choices = dict[str, tuple[object, ...]]

RESERVATIONS: Choices = {
    "reserved_for": ("j-1", "job:j-2", "user:mira", "team:vision"), "reserved_until": (UNTIL,)
}  # fmt: skip
DEVICES: Choices = RESERVATIONS | {
    "model": ("Tesla T4", None), "kind": (Accelerator.ROCM, None), "memory_bytes": (16 * GB, None),
    "memory_kind": (MemoryKind.UNIFIED, None), "compute_capability": ("7.5", "10.0", "14.0", None), "mig": (True, None),
    "healthy": (False, None), "foreign_memory_bytes": (2 * GB, None),
}  # fmt: skip
ENVIRONMENTS: Choices = {
    "python": ("3.8.18", "3.99.1", None), "launchers": ((), None), "comm_backends": (("gloo",), None),
    "frameworks": (
        (), None, (("torch", "2.4.1"),), (("torch", "2.7.0.dev1+cu128"),), (("torch", "nonsense"),),
        (("torch", "2.6.0+cpu"),), (("torch", "2.6.0+rocm6.2.4"),), (("torch", "9.1.0+cu151"),),
        (("torch", "2.11.0+cu130"),),
    ),
    "torch_build": (
        TorchBuild(), TorchBuild(cuda="12.8"), TorchBuild(hip="6.2"), TorchBuild(cuda="12.4", archs=("sm_80",)),
        TorchBuild(cuda="13.0", archs=("sm_75", "compute_75")),
    ),
}  # fmt: skip
HOSTS: Choices = RESERVATIONS | {
    "origin": (Origin.REMOTE, Origin.REMOTE, Origin.CLOUD), "provider": ("aws", "GCP"), "region": ("eu",),
    "os": ("Darwin", None), "arch": ("AMD64", None), "cpu_millicores": (4000, None), "memory_bytes": (16 * GB, None),
    "disk_bytes": (None,), "advertise_address": (None,), "max_concurrent_tasks": (1, 4),
    "labels": ((("zone", "a"),), (("zone", "b"),)), "devices": (None, ()), "foreign_allowance_bytes": (0, 5 * GB),
    "driver": ("570.124.06", "450.1", None),
}  # fmt: skip
STATES: Choices = {"online": (False,), "draining": (True,), "unhealthy": (True,), "state_note": ("a note",)}
ASKED: Choices = {
    "os": ("linux", "macos"), "arch": ("x86_64",), "cpu_millicores": (0, 2000, 4000), "memory_bytes": (1, 30 * GB),
    "disk_bytes": (40 * GB,), "accelerator": (Accelerator.CUDA, Accelerator.ROCM), "gpu_memory_bytes": (40 * GB,),
    "gpu_models": (("NVIDIA*",), ("tesla t4", "x")), "gpu_memory_kind": (MemoryKind.DEDICATED,),
    "compute_capability": (">=8.0",),
}  # fmt: skip
HOLD = {"hold_s": 3600, "command": (), "distributed": None}
LIMITS = ({}, {"timeout_s": 600}, {"timeout_s": 1800}, {"timeout_s": 1900}, HOLD, {"timeout_s": 86_400})
PLACED: Choices = {
    "provider": ("AWS",), "region": ("EU", "us"), "worker_ids": (("w1", "a", "w99"), ("b", "x", "y")),
    "worker_labels": ((("zone", "a"),), (("rack", "7"), ("zone", "a"))),
}  # fmt: skip
INSTALLED: Choices = {
    "environment": ("train", "trian"), "python": (">=3.10",),
    "frameworks": ((("torch", ">=2.5"),), (("jax", ""), ("torch", "==2.6.*"))),
}  # fmt: skip
A_DEVICE = DeviceView(
    index=0, model="NVIDIA A100", kind=Accelerator.CUDA, memory_bytes=80 * GB, memory_kind=MemoryKind.DEDICATED,
    compute_capability="8.0", mig=False, healthy=True, foreign_memory_bytes=0,
)  # fmt: skip
AN_ENVIRONMENT = EnvironmentView(
    python="3.11.9", frameworks=(("torch", "2.6.0+cu124"),), launchers=("torchrun",), comm_backends=("gloo", "nccl")
)
A_HOST = WorkerFacts(
    id="", origin=Origin.LOCAL, os="linux", arch="x86_64", cpu_millicores=8000, memory_bytes=64 * GB,
    disk_bytes=100 * GB, advertise_address="10.0.0.1", driver="550.54.15",
)  # fmt: skip


def odd(dice: Random, choices: Choices, most: int) -> dict[str, object]:
    """Up to so many of the fields, each with one of its values."""
    names = dice.sample(sorted(choices), dice.randint(0, most))
    return {name: dice.choice(choices[name]) for name in names}


def a_random_worker(dice: Random, id: str) -> WorkerView:
    """A host with up to five devices, most of them alike, and tasks on some of them."""
    cards = [A_DEVICE] * dice.randint(0, 3)
    cards += [replace(A_DEVICE, **odd(dice, DEVICES, 2)) for _ in range(dice.randint(0, 2))]  # type: ignore[arg-type]
    environments = tuple(
        (name, replace(AN_ENVIRONMENT, **odd(dice, ENVIRONMENTS, 1)))
        for name in ("default", "train")[: dice.randint(1, 2)]
    )
    numbered = tuple(replace(card, index=index) for index, card in enumerate(cards))
    facts = replace(A_HOST, id=id, environments=environments, devices=numbered)
    facts = replace(facts, **odd(dice, HOSTS, 2))  # type: ignore[arg-type]
    tasks = [TaskLoad(job_id=f"t-{card.index}", devices=(card.index,)) for card in facts.devices or () if coin(dice, 4)]
    if coin(dice, 4):
        tasks.append(TaskLoad(job_id="t-9", cpu_millicores=3000, memory_bytes=40 * GB, disk_bytes=80 * GB))
    state = odd(dice, STATES, 1) if coin(dice, 3) else {}
    view = WorkerView(facts=facts, tasks=tuple(tasks), **state)  # type: ignore[arg-type]
    return with_other_reservations(view, dice) if coin(dice, 2) else view


def with_other_reservations(view: WorkerView, dice: Random) -> WorkerView:
    """The same worker, kept for others, or to be kept from soon on, as a whole or in part."""
    windows = [a_random_window(dice) for _ in range(dice.choice((0, 1, 1, 2)))]
    kept = dice.choice((None, None, *RESERVATIONS["reserved_for"]))
    devices = view.facts.devices and tuple(
        replace(card, reserved_for=dice.choice(RESERVATIONS["reserved_for"])) if coin(dice, 3) else card  # type: ignore[arg-type]
        for card in view.facts.devices
    )
    facts = replace(
        view.facts, upcoming=tuple(sorted(windows, key=lambda window: window.starts_at)),
        devices=devices, reserved_for=kept, reserved_until=kept and dice.choice((UNTIL, None)),  # type: ignore[arg-type]
    )  # fmt: skip
    return replace(view, facts=facts, at=NOW if windows else None)


def a_random_window(dice: Random) -> Window:
    """A reservation that begins within two hours."""
    starts = NOW + timedelta(minutes=dice.choice((15, 30, 60, 120)))
    return Window(
        holder=dice.choice(("j-1", "job:j-2", "user:mira", "team:vision")), starts_at=starts,
        ends_at=dice.choice((None, starts + timedelta(hours=1))), devices=dice.choice(((), (0,), (0, 1, 2))),
        notice_s=dice.choice((0, 3600, 86_400)),
    )  # fmt: skip


def a_random_fleet(dice: Random) -> tuple[WorkerView, ...]:
    """Up to eight workers in any order, half of them of the same facts and load as another."""
    found: list[WorkerView] = []
    for id in dice.sample(IDS, dice.randint(0, len(IDS))):
        if found and coin(dice, 2):
            twin = dice.choice(found)
            twin = with_other_reservations(twin, dice) if coin(dice, 3) else twin
            found.append(replace(twin, facts=replace(twin.facts, id=id)))
        else:
            found.append(a_random_worker(dice, id))
    return tuple(found)


def a_random_spec(dice: Random) -> JobSpec:
    """A job that asks for a few things."""
    gang = Distributed(
        num_workers=dice.randint(1, 3), procs_per_worker=dice.choice((1, 1, 8)),
        launcher=dice.choice((None, "torchrun")), comm_backend=dice.choice((None, "nccl")),
    )  # fmt: skip
    return JobSpec(
        name="job", command=("true",), target=dice.choice((Origin.LOCAL, Origin.LOCAL, Origin.LOCAL, Origin.CLOUD)),
        fallback_targets=dice.choice(((), (Origin.REMOTE,))), fallback_when=dice.choice(tuple(FallbackWhen)),
        policy=dice.choice(tuple(Policy)),
        placement=Placement(
            **odd(dice, PLACED, 1) if coin(dice, 3) else {}, reserved_only=coin(dice, 4)  # type: ignore[arg-type]
        ),
        resources=Resources(gpus=dice.randint(0, 3), **odd(dice, ASKED, 2)),  # type: ignore[arg-type]
        runtime=Runtime(**odd(dice, INSTALLED, 1) if coin(dice, 3) else {}),  # type: ignore[arg-type]
        distributed=gang if coin(dice, 3) else None,
    )  # fmt: skip


def a_random_queue(dice: Random, longest: int = 8) -> tuple[QueueEntry, ...]:
    """Some jobs, of few shapes."""
    shapes = [a_random_spec(dice) for _ in range(dice.randint(1, 4))]
    return tuple(
        QueueEntry(
            job_id=f"j-{number}", spec=replace(dice.choice(shapes), **dice.choice(LIMITS)),
            holders=dice.choice(((), ("user:mira", "team:vision"))),
            failed_on=dice.choice(((), (), (), ("a", "w1"))),
        )
        for number in range(dice.randint(1, longest))
    )  # fmt: skip


def coin(dice: Random, sides: int) -> bool:
    """Whether one of so many sides comes up."""
    return dice.randrange(sides) == 0


instants = st.sampled_from((None, NOW, NOW + timedelta(minutes=30), NOW + timedelta(minutes=80)))
"""Of the view itself, or later: when nothing has begun, some of it has, and some is over already."""
dice = st.integers(0, 2**32 - 1).map(Random)
fleets = dice.map(a_random_fleet)
queues = dice.map(a_random_queue)
jobs = dice.map(lambda thrown: a_random_queue(thrown, longest=1)[0])
workers = dice.map(lambda thrown: a_random_worker(thrown, "new"))
