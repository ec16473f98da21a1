"""A fleet and a queue of any size, as documents: real cards, few kinds of host, every host with labels of its own."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

Document = dict[str, Any]

CARDS = (  # name and memory as the driver reports them, compute capability
    ("Tesla T4", "15360MiB", "7.5"),
    ("Tesla V100-SXM2-32GB", "32768MiB", "7.0"),
    ("NVIDIA A10", "23028MiB", "8.6"),
    ("NVIDIA L4", "23034MiB", "8.9"),
    ("NVIDIA GeForce RTX 4090", "24564MiB", "8.9"),
    ("NVIDIA L40S", "46068MiB", "8.9"),
    ("NVIDIA A100-SXM4-40GB", "40960MiB", "8.0"),
    ("NVIDIA A100-SXM4-80GB", "81920MiB", "8.0"),
    ("NVIDIA H100 80GB HBM3", "81559MiB", "9.0"),
    ("NVIDIA H200", "143771MiB", "9.0"),
)
HOSTS = (  # cores, RAM, disk, torch, driver
    (64, "256GiB", "1TB", "2.4.1+cu121", "535.183.06"),
    (96, "512GiB", "2TB", "2.6.0+cu124", "550.54.15"),
    (128, "768GiB", "4TB", "2.7.1+cu128", "570.86.15"),
    (192, "1024GiB", "8TB", "2.8.0+cu128", "570.86.15"),
)
ORIGINS = ("local", "local", "local", "remote", "cloud")
GPUS = 8
ONE_IN_TWENTY = 20

SHAPES: tuple[Document, ...] = (
    {"resources": {"gpus": 1, "cpu_cores": 4, "memory_gb": 16}},
    {"resources": {"gpus": 1, "cpu_cores": 8, "memory_gb": 64, "gpu_memory_gb": 40}},
    {"resources": {"gpus": 1, "cpu_cores": 4, "compute_capability": ">=8.0"}},
    {"resources": {"gpus": 1, "cpu_cores": 4, "gpu_models": ["Tesla T4", "NVIDIA L4"]}},
    {"resources": {"gpus": 1, "cpu_cores": 8, "gpu_memory_gb": 44}, "policy": "most_free_memory"},
    {"resources": {"gpus": 2, "cpu_cores": 16, "memory_gb": 64, "gpu_memory_gb": 24}},
    {"resources": {"gpus": 2, "cpu_cores": 16}, "runtime": {"python": ">=3.11", "frameworks": {"torch": ">=2.6"}}},
    {"resources": {"gpus": 2, "cpu_cores": 8, "memory_gb": 64}, "placement": {"worker_labels": {"disk": "ssd"}}},
    {"resources": {"gpus": 4, "cpu_cores": 32, "memory_gb": 192, "gpu_memory_gb": 80}},
    {"resources": {"gpus": 4, "gpu_models": ["NVIDIA A100*", "NVIDIA H*"]}, "placement": {"region": "eu-1"}},
    {"resources": {"gpus": 8, "cpu_cores": 64, "memory_gb": 256, "gpu_memory_gb": 40}},
    {"resources": {"gpus": 8, "cpu_cores": 48, "memory_gb": 500, "gpu_models": ["NVIDIA H100*"]}},
    {"resources": {"cpu_cores": 16, "memory_gb": 64}},
    {"resources": {"cpu_cores": 2, "memory_gb": 8, "disk_gb": 3000}},
    {"resources": {"gpus": 1, "cpu_cores": 4}, "target": "remote", "fallback_targets": ["cloud"]},
    {"resources": {"gpus": 1, "cpu_cores": 4}, "fallback_targets": ["remote"], "fallback_when": "incompatible"},
    {"resources": {"gpus": 1}, "distributed": {"num_workers": 4, "launcher": "torchrun", "comm_backend": "nccl"}},
    {"resources": {"gpus": 8, "gpu_memory_gb": 80}, "distributed": {"num_workers": 2, "comm_backend": "nccl"}},
    {"resources": {"gpus": 1, "cpu_cores": 4, "memory_gb": 32}, "placement": {"worker_labels": {"pool": "team-1"}}},
    {"resources": {"gpus": 8, "gpu_models": ["Tesla T4"], "gpu_memory_gb": 80}},  # never fits
)


def workers(count: int, seed: int) -> Iterator[Document]:
    """Worker documents in random order; one in twenty draining, offline, or with a device that is broken or in use."""
    dice = Random(seed)
    numbers = list(range(count))
    dice.shuffle(numbers)
    for number in numbers:
        yield _worker(number, dice)


def jobs(count: int, shapes: int, seed: int) -> Iterator[Document]:
    """Queue entries of so many shapes in random order; beyond the twenty above they differ in their cores."""
    dice = Random(seed + 1)
    order = [number % shapes for number in range(count)]
    dice.shuffle(order)
    for number, shape in enumerate(order):
        base = SHAPES[shape % len(SHAPES)]
        resources = base["resources"] | ({"cpu_cores": 1 + shape // len(SHAPES)} if shape >= len(SHAPES) else {})
        spec = (
            {"name": f"job-{number}", "command": ["sleep", "60"], "target": "local"} | base | {"resources": resources}
        )
        yield {"job_id": f"j-{number}", "submitted_at": number, "spec": spec}


def _worker(number: int, dice: Random) -> Document:
    name, memory, capability = CARDS[number % len(CARDS)]
    cores, ram, disk, torch, driver = HOSTS[number // len(CARDS) % len(HOSTS)]
    id = f"n{number:05d}"
    devices: list[Document] = [
        {
            "index": index, "uuid": f"GPU-{id}-{index}", "model": name, "kind": "cuda", "memory": memory,
            "memory_kind": "dedicated", "compute_capability": capability, "mig": False, "health": "ok",
        }
        for index in range(GPUS)
    ]  # fmt: skip
    host: Document = {
        "id": id, "origin": ORIGINS[number // 7 % 5], "region": f"eu-{number % 3}",
        "os": "linux", "arch": "x86_64", "cpu_cores": cores, "memory": ram, "disk": disk, "driver": driver,
        "python": "3.11.9", "frameworks": {"torch": torch},
        "launchers": ["torchrun"], "comm_backends": ["gloo", "nccl"],
        "advertise_address": f"{id}.internal", "state": "online", "tasks": [],
        "labels": {"host": id, "rack": f"r{number // 32:04d}", "pool": f"team-{number % 9}", "disk": "ssd"},
    }  # fmt: skip
    match dice.randrange(4 * ONE_IN_TWENTY):
        case 0:
            host["state"] = "draining"
        case 1:
            host["state"] = "offline"
        case 2:
            devices[0]["health"] = "unhealthy"
        case 3:
            host["tasks"] = [{"job_id": "j-earlier", "devices": [0, 1], "cpu_cores": 8, "memory": "64GB"}]
    return host | {"devices": devices}
