"""A busy installation to look at, as documents: 1,200 workers, and a few hundred jobs of two people.

`tests.browser.demo_fill` puts them into one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers.agent.demo import demo_fleet

SIZE = 1_200
HERE = ("dgx", "attic", "bench", "render")
"""Kinds of host that stand in this team's own room; the others are remote or rented."""
LONG = "training-node-with-a-name-as-long-as-host-names-come-0042"
MINUTE, HOUR = 60, 3600
TORCH = {"frameworks": {"torch": ">=2.4"}}

LARGE: tuple[tuple[str, str, str, str, int, int], ...] = (
    ("moe-pretrain-s1", "mira", "local", "*A100-SXM4-80GB*", 36, 40 * HOUR),
    ("vit-l-distill", "lin", "remote", "*H100*", 30, 9 * HOUR),
    ("sft-70b", "mira", "cloud", "*H200*", 28, 14 * HOUR),
    ("asr-large", "lin", "cloud", "*A100-SXM4-40GB*", 34, 7 * HOUR),
    ("diffusion-xl", "lin", "cloud", "*B200*", 20, 30 * HOUR),
)
"""Gangs that fill most of what is large: name, owner, target, model, hosts, time limit."""

SMALL: tuple[tuple[str, str, dict[str, Any], int], ...] = (
    ("finetune", "local", {"gpus": 1, "gpu_memory_gb": 24}, 5),
    ("evaluate", "local", {"gpus": 1}, 6),
    ("embed", "remote", {"gpus": 2, "gpu_memory_gb": 20}, 5),
    ("render", "local", {"gpus": 4, "gpu_memory_gb": 40}, 4),
    ("sweep", "cloud", {"gpus": 1, "gpu_memory_gb": 15}, 6),
    ("distill", "cloud", {"gpus": 4, "gpu_memory_gb": 40}, 4),
    ("probe", "remote", {"gpus": 1, "gpu_memory_gb": 30}, 4),
    ("align", "remote", {"gpus": 8, "gpu_memory_gb": 80}, 1),
)
"""Name, target, what it asks for, how often."""

WAITING: tuple[dict[str, Any], ...] = (
    {"name": "moe-pretrain-s2", "owner": "mira", "target": "local", "fallback_targets": ["remote"],
     "fallback_when": "incompatible", "resources": {"gpus": 8, "gpu_memory_gb": 80, "compute_capability": ">=8.0"},
     "placement": {"worker_labels": {"fabric": "infiniband"}}, "runtime": TORCH, "timeout_s": 24 * HOUR, "many": 40},
    {"name": "llama-70b-sft", "owner": "mira", "target": "local", "resources": {"gpus": 8, "gpu_memory_gb": 80},
     "distributed": {"num_workers": 24, "procs_per_worker": 8, "launcher": "torchrun", "comm_backend": "nccl"},
     "runtime": TORCH, "many": 2},
    {"name": "blackwell-port", "owner": "lin", "target": "local", "fallback_targets": ["remote"],
     "resources": {"gpus": 8, "gpu_memory_gb": 80}, "runtime": {"frameworks": {"torch": ">=2.9"}}, "many": 3},
    {"name": "sixteen-way", "owner": "lin", "target": "local", "resources": {"gpus": 16, "gpu_memory_gb": 80}},
    {"name": "reserved-run", "owner": "mira", "target": "local", "resources": {"gpus": 8, "gpu_memory_gb": 80},
     "placement": {"reserved_only": True}},
)  # fmt: skip


PROGRESS = r"""
for epoch in $(seq 1 90); do
  for batch in 20 40 60 80 100; do printf '\repoch %d: %3d %%' $epoch $batch; sleep 0.2; done
  printf '\repoch %d: loss %d.%03d\n' $epoch $((9 / epoch)) $((997 - epoch * 7)); echo "checkpoint $epoch kept" >&2
done; sleep 3600
"""
FAILING = "echo reading /data/tiny; echo 'FileNotFoundError: /data/tiny/train.jsonl' >&2; exit 3"


def fleet() -> Iterator[dict[str, Any]]:
    """Every worker document; two hosts among them try the page: a long name, and sixteen cards of two models."""
    for document in demo_fleet(SIZE - 2, 0):
        here = str(document["id"]).rsplit("-", 1)[0] in HERE
        yield {**document, "origin": "local"} if here else document
    host = next(each for each in demo_fleet(40, 0) if each["id"].startswith("dgx"))
    yield _host(host, LONG, host["devices"])
    cards = [*host["devices"], *({**each, "model": "NVIDIA L40S", "memory": "46068MiB", "compute_capability": "8.9"}
                                 for each in host["devices"])]  # fmt: skip
    yield _host(host, "mixed-16", cards)


def _host(like: dict[str, Any], name: str, cards: list[dict[str, Any]]) -> dict[str, Any]:
    devices = [{**card, "index": index, "uuid": f"GPU-{name}-{index}"} for index, card in enumerate(cards)]
    return {**like, "id": name, "origin": "local", "devices": devices, "state": "online"}


def write(path: Path) -> Path:
    """The fleet as JSON lines."""
    path.write_text("".join(json.dumps(each) + "\n" for each in fleet()), encoding="utf-8")
    return path


def history() -> Iterator[dict[str, Any]]:
    for number in range(150):
        name, target, resources, _ = SMALL[number % len(SMALL)]
        yield {"name": f"{name}-{number:03d}", "owner": ("mira", "lin")[number % 2], "target": target,
               "command": ["sleep", "0.1"], "resources": resources, "timeout_s": HOUR}  # fmt: skip


def large() -> Iterator[dict[str, Any]]:
    for name, owner, target, model, hosts, limit in LARGE:
        yield {"name": name, "owner": owner, "target": target, "command": ["sleep", str(limit)], "timeout_s": limit,
               "resources": {"gpus": 8, "gpu_models": [model]}, "runtime": TORCH,
               "distributed": {"num_workers": hosts, "procs_per_worker": 8, "launcher": "torchrun",
                               "comm_backend": "nccl"}}  # fmt: skip


def small(chance: random.Random) -> Iterator[dict[str, Any]]:
    weights = [often for *_, often in SMALL]
    for number in range(200):
        name, target, resources, _ = chance.choices(SMALL, weights)[0]
        limit = chance.randint(20, 600) * MINUTE
        yield {"name": f"{name}-{chance.choice(('a', 'b', 'c'))}{number}", "owner": chance.choice(("mira", "lin")),
               "target": target, "command": ["python", "train.py", "--seed", str(number), "#", f"sleep {limit}"],
               "resources": resources, "timeout_s": limit}  # fmt: skip


def waiting() -> Iterator[dict[str, Any]]:
    for spec in WAITING:
        for number in range(spec.get("many", 1)):
            rest = {key: value for key, value in spec.items() if key not in ("many", "name")}
            yield {
                **rest,
                "name": f"{spec['name']}{f'-{number}' if number else ''}",
                "command": ["python", "train.py", "#", "sleep 3h"],
            }


def real(host: str) -> Iterator[dict[str, Any]]:
    """Two that this very host runs: one that says how far it is, and one that fails."""
    here = {"owner": "mira", "target": "local", "placement": {"worker_ids": [host]}}
    yield {**here, "name": "train-here", "command": ["sh", "-c", PROGRESS], "timeout_s": 2 * HOUR}
    yield {**here, "name": "smoke-test", "owner": "lin", "command": ["sh", "-c", FAILING]}
