"""A made-up fleet as one meets it: cards of every age, hosts without any, and things that nobody knows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_BUSY = 60


@dataclass(frozen=True, slots=True)
class Card:
    """A device as its driver reports it; None is what it does not disclose."""

    model: str | None
    memory_mib: int | None
    compute_capability: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One sort of host."""

    prefix: str
    card: Card | None
    gpus: int
    cpu_cores: int
    memory_gib: int
    disk_gb: int
    origin: str
    provider: str | None = None
    regions: tuple[str, ...] = ("hq",)
    driver: str | None = "570.133.20"
    stack: str = "new"
    fabric: bool = False


T4 = Card("Tesla T4", 15360, "7.5")
V100 = Card("Tesla V100-SXM2-32GB", 32768, "7.0")
RTX_3090 = Card("NVIDIA GeForce RTX 3090", 24576, "8.6")
RTX_4090 = Card("NVIDIA GeForce RTX 4090", 24564, "8.9")
RTX_5090 = Card("NVIDIA GeForce RTX 5090", 32607, "12.0")
A6000 = Card("NVIDIA RTX A6000", 49140, "8.6")
A10G = Card("NVIDIA A10G", 23028, "8.6")
A40 = Card("NVIDIA A40", 46068, "8.6")
A100_40 = Card("NVIDIA A100-SXM4-40GB", 40960, "8.0")
A100_80 = Card("NVIDIA A100-SXM4-80GB", 81920, "8.0")
L4 = Card("NVIDIA L4", 23034, "8.9")
L40S = Card("NVIDIA L40S", 46068, "8.9")
H100 = Card("NVIDIA H100 80GB HBM3", 81559, "9.0")
H200 = Card("NVIDIA H200", 143771, "9.0")
B200 = Card("NVIDIA B200", 183359, "10.0")
# A driver older than its board prints no name; some hosts of a trace disclose a code name and nothing else.
NAMELESS = Card(None, 95830, "9.0")
CODE_NAME = Card("G3", None, None)

AWS, GCP, ORACLE = ("us-east-1", "eu-west-1"), ("us-central1", "europe-west4"), ("eu-frankfurt-1",)
STACKS: dict[str, dict[str, Any]] = {
    "new": {"python": "3.12.8", "frameworks": {"torch": "2.7.1+cu128", "transformers": "4.52.4", "numpy": "2.2.6"}},
    "usual": {"python": "3.11.9", "frameworks": {"torch": "2.6.0+cu124", "transformers": "4.49.0", "numpy": "1.26.4"}},
    "old": {"python": "3.9.18", "frameworks": {"torch": "2.2.2+cu118", "numpy": "1.26.4"}},
    "bare": {"python": "3.12.3", "frameworks": {}},
    "unknown": {"python": None, "frameworks": None},
}

KINDS = (
    Kind(prefix="dgx", card=A100_80, gpus=8, cpu_cores=128, memory_gib=1024, disk_gb=15000, origin="remote",
         fabric=True),
    Kind(prefix="bench", card=RTX_4090, gpus=2, cpu_cores=32, memory_gib=128, disk_gb=2000, origin="remote"),
    Kind(prefix="aws-g4dn", card=T4, gpus=4, cpu_cores=48, memory_gib=192, disk_gb=900, origin="cloud",
         provider="aws", regions=AWS, driver="550.54.15", stack="usual"),
    Kind(prefix="build", card=None, gpus=0, cpu_cores=64, memory_gib=256, disk_gb=4000, origin="remote", driver=None,
         stack="bare"),
    Kind(prefix="gcp-l4", card=L4, gpus=4, cpu_cores=48, memory_gib=192, disk_gb=1500, origin="cloud", provider="gcp",
         regions=GCP),
    Kind(prefix="hpc", card=H100, gpus=8, cpu_cores=192, memory_gib=2048, disk_gb=28000, origin="remote", fabric=True),
    Kind(prefix="attic", card=V100, gpus=8, cpu_cores=80, memory_gib=512, disk_gb=3500, origin="remote",
         driver="535.183.06", stack="old"),
    Kind(prefix="aws-g5", card=A10G, gpus=4, cpu_cores=48, memory_gib=192, disk_gb=3800, origin="cloud",
         provider="aws", regions=AWS, driver="550.54.15", stack="usual"),
    Kind(prefix="lent", card=CODE_NAME, gpus=8, cpu_cores=96, memory_gib=768, disk_gb=3000, origin="remote",
         driver=None, stack="unknown"),
    Kind(prefix="render", card=A6000, gpus=4, cpu_cores=64, memory_gib=256, disk_gb=8000, origin="remote",
         stack="usual"),
    Kind(prefix="aws-p4d", card=A100_40, gpus=8, cpu_cores=96, memory_gib=1152, disk_gb=8000, origin="cloud",
         provider="aws", regions=AWS, fabric=True),
    Kind(prefix="desk", card=RTX_3090, gpus=1, cpu_cores=16, memory_gib=64, disk_gb=1000, origin="remote",
         stack="usual"),
    Kind(prefix="oci-l40s", card=L40S, gpus=4, cpu_cores=112, memory_gib=1024, disk_gb=7000, origin="cloud",
         provider="oci", regions=ORACLE),
    Kind(prefix="store", card=None, gpus=0, cpu_cores=32, memory_gib=512, disk_gb=120000, origin="remote", driver=None,
         stack="bare"),
    Kind(prefix="shelf", card=A40, gpus=4, cpu_cores=64, memory_gib=512, disk_gb=4000, origin="remote", stack="usual"),
    Kind(prefix="fresh", card=NAMELESS, gpus=4, cpu_cores=128, memory_gib=768, disk_gb=4000, origin="remote",
         stack="unknown"),
    Kind(prefix="gcp-h200", card=H200, gpus=8, cpu_cores=224, memory_gib=2952, disk_gb=12000, origin="cloud",
         provider="gcp", regions=GCP, fabric=True),
    Kind(prefix="studio", card=RTX_5090, gpus=2, cpu_cores=32, memory_gib=192, disk_gb=4000, origin="remote"),
    Kind(prefix="aws-c7i", card=None, gpus=0, cpu_cores=96, memory_gib=192, disk_gb=500, origin="cloud", provider="aws",
         regions=AWS, driver=None, stack="bare"),
    Kind(prefix="aws-p6", card=B200, gpus=8, cpu_cores=192, memory_gib=2048, disk_gb=30000, origin="cloud",
         provider="aws", regions=AWS, driver="580.65.06", fabric=True),
)  # fmt: skip


def demo_fleet(count: int, seed: int, origin: str | None = None) -> list[dict[str, Any]]:
    """`count` worker documents, the same for the same seed; every origin is `origin` where that is given."""
    chance = random.Random(seed)  # noqa: S311 (made to be repeatable)
    kinds = list(KINDS)
    documents = []
    for number in range(count):
        if number % len(kinds) == 0:
            chance.shuffle(kinds)
        documents.append(_worker(kinds[number % len(kinds)], number, chance, origin))
    return documents


def demo_jobs(fleet: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Job documents that keep about a quarter of the fleet busy, some of it wholly and some in part."""
    chance = random.Random(seed + 1)  # noqa: S311 (made to be repeatable)
    able = [worker for worker in fleet if worker["devices"] and worker["state"] == "online"]
    chosen = chance.sample(able, min(len(able), MOST_BUSY, max(1, len(fleet) // 4))) if able else []
    return [job for worker in chosen for job in _jobs_of(worker, chance)]


def _worker(kind: Kind, number: int, chance: random.Random, origin: str | None) -> dict[str, Any]:
    name = f"{kind.prefix}-{number + 1:02d}"
    region = chance.choice(kind.regions)
    labels = {"rack": f"r{chance.randint(1, 40):02d}", "team": chance.choice(("vision", "speech", "platform"))}
    if kind.fabric:
        labels["fabric"] = "infiniband"
    launchers = ["torchrun"] if "torch" in (STACKS[kind.stack]["frameworks"] or {}) else []
    known = kind.stack != "unknown"
    return {
        "version": 1, "id": name, "origin": origin or kind.origin, "provider": kind.provider, "region": region,
        "labels": labels, "os": "linux", "os_version": chance.choice(("22.04", "24.04")), "arch": "x86_64",
        "cpu_cores": kind.cpu_cores, "memory": f"{kind.memory_gib}GiB" if known else None,
        "disk": f"{kind.disk_gb}GB", "driver": kind.driver, "advertise_address": f"{name}.example.internal",
        **STACKS[kind.stack], "launchers": launchers if known else None,
        "comm_backends": (["nccl", "gloo"] if launchers else []) if known else None,
        "devices": [_device(kind.card, name, index) for index in range(kind.gpus)] if kind.card else [],
        "state": _state(number),
    }  # fmt: skip


def _device(card: Card, name: str, index: int) -> dict[str, Any]:
    return {
        "index": index, "uuid": f"GPU-{name}-{index}", "model": card.model, "kind": "cuda",
        "memory": f"{card.memory_mib}MiB" if card.memory_mib else None,
        "memory_kind": "dedicated" if card.memory_mib else None, "compute_capability": card.compute_capability,
        "mig": False, "health": "ok",
    }  # fmt: skip


def _state(number: int) -> str:
    """Of every twenty: two draining, two offline, one unhealthy."""
    return {5: "draining", 8: "offline", 12: "unhealthy", 15: "draining", 18: "offline"}.get(number % 20, "online")


def _jobs_of(worker: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """One job on some of its devices, or two that share them all."""
    count = len(worker["devices"])
    first = count if chance.random() < 0.4 else chance.randint(1, count)
    for gpus in (first, count - first if chance.random() < 0.5 else 0):
        if gpus:
            work = chance.choice(("finetune", "evaluate", "embed", "pretrain", "render"))
            yield {
                "name": f"demo-{work}-{worker['id']}", "command": ["sleep", str(60 * chance.randint(10, 120))],
                "target": worker["origin"], "placement": {"worker_ids": [worker["id"]]},
                "resources": {"gpus": gpus, "cpu_cores": 2 * gpus},
            }  # fmt: skip
