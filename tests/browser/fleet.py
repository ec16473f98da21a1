"""A fleet of 1,200 worker documents: a few local hosts with eight 32 GB cards among many that do not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CARDS = {
    "T4": ("Tesla T4", "15360MiB", "7.5"),
    "V100": ("Tesla V100-SXM2-32GB", "32768MiB", "7.0"),
    "H100": ("NVIDIA H100 80GB HBM3", "81559MiB", "9.0"),
    "?": ("G3", None, None),
}
SIZE = 1_200
FIRST_WITH_EIGHT = "lab-v100-00"
UNDISCLOSED = 100


def fleet() -> Iterator[dict[str, Any]]:
    """Every worker, all of them known only by simulation."""
    for number in range(20):
        yield worker(f"lab-v100-{number:02d}", "local", 8, "V100")
    for number in range(UNDISCLOSED):
        yield worker(f"lab-g3-{number:03d}", "local", 8, "?")
    for number in range(480):
        yield worker(f"lab-t4-{number:03d}", "local", 4, "T4", zone="ab"[number % 2])
    for number in range(600):
        yield worker(f"rem-h100-{number:03d}", "remote", 8, "H100")


def worker(name: str, origin: str, gpus: int, card: str, *, zone: str = "a") -> dict[str, Any]:
    """One host with equal cards."""
    model, memory, capability = CARDS[card]
    devices = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": model, "kind": "cuda", "memory": memory,
         "memory_kind": "dedicated", "compute_capability": capability, "mig": False, "health": "ok"}
        for index in range(gpus)
    ]  # fmt: skip
    return {
        "id": name, "origin": origin, "os": "linux", "arch": "x86_64", "cpu_cores": 64, "memory": "256GB",
        "disk": "1TB", "python": "3.11.9", "frameworks": {"torch": "2.6.0+cu124"}, "driver": "550.54.15",
        "labels": {"zone": zone}, "devices": devices, "state": "online", "tasks": [],
    }  # fmt: skip


def write(path: Path) -> Path:
    """The fleet as JSON lines."""
    path.write_text("".join(json.dumps(document) + "\n" for document in fleet()))
    return path
