"""Situations that schedulers get wrong, as documents, each with what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


def worker(id: str, *devices: Document, **facts: object) -> Document:
    """A local Linux host with 32 cores, 128 GiB of RAM and these devices."""
    numbered = [
        {"index": index, "kind": "cuda", "memory_kind": "dedicated"} | card for index, card in enumerate(devices)
    ]
    host = {"id": id, "origin": "local", "os": "linux", "arch": "x86_64", "cpu_cores": 32, "memory": "128GiB"}
    return host | {"disk": "500GiB", "python": "3.11.9", "driver": "550.54.15", "devices": numbered} | facts


def card(memory: str | None = "24GiB", capability: str | None = "8.6", **facts: object) -> Document:
    """One CUDA device."""
    return {"memory": memory, "compute_capability": capability} | facts


def job(id: str, *, holders: list[str] | None = None, more: Document | None = None, **resources: object) -> Document:
    """A local job."""
    spec = {"name": id, "command": ["true"], "target": "local", "resources": resources} | (more or {})
    return {"job_id": id, "holders": holders, "spec": spec}


@dataclass(frozen=True)
class Situation:
    """Workers and jobs, and what is right: for each job where it goes (`w1 0,2`) or why not, and codes by worker."""

    workers: list[Document]
    jobs: list[Document]
    right: dict[str, str]
    codes: dict[str, dict[str, str]]


LOST = {"health": "unhealthy", "memory": None, "compute_capability": None}
AMD = {"kind": "rocm", "compute_capability": None}
RESERVED = "gpulayer.dev/reserved-for"
FALL_BACK = {"fallback_targets": ["remote"], "fallback_when": "incompatible"}
THREE = {"fallback_targets": ["remote", "cloud"]}
TASK = {"job_id": "t1", "devices": [0]}

SITUATIONS = {
    "a card sold as 24 GB reports a little less, one sold as 80 GB a little more": Situation(
        [worker(f"w{n}", card(f"{mib}MiB")) for n, mib in enumerate((22731, 23028, 81559, 81920), 1)],
        [
            job("24 GB", gpus=1, gpu_memory_gb=24), job("80 GiB", gpus=1, gpu_memory_gb="80GiB"),
            job("80 GB", gpus=1, gpu_memory_gb="80 GB"),
            job("24 GiB", gpus=1, gpu_memory_gb="24GiB", more={"placement": {"worker_ids": ["w2"]}}),
        ],
        {"24 GB": "w2 0", "80 GiB": "w4 0", "80 GB": "w3 0", "24 GiB": "unschedulable"},
        {
            "80 GiB": {"w1": "gpu_memory", "w2": "gpu_memory", "w3": "gpu_memory", "w4": ""},
            "24 GiB": {"w2": "gpu_memory", "w3": "not_pinned"},
        },
    ),
    "compute capability 10.0 is higher than 9.0": Situation(
        [worker(f"w{n}", card("80GiB", cc)) for n, cc in enumerate(("10.0", "12.0", "8.9", "9.0"), 1)],
        [job(id, gpus=1, compute_capability=cc) for id, cc in (("a", "9.0"), ("b", "9.0"), ("c", "9.0"), ("d",
        "10.1"))],
        {"a": "w1 0", "b": "w2 0", "c": "w4 0", "d": "waiting"},
        {"a": {"w3": "gpu_compute_capability", "w4": ""}, "d": {"w2": "slots gpu_in_use",
        "w4": "gpu_compute_capability"}},
    ),
    "zero GPUs asked for is not the same as GPUs missing": Situation(
        [worker("w1", devices=None, max_concurrent_tasks=1), worker("w2", card())],
        [job("one", gpus=1), job("zero", gpus=0, gpu_memory_gb=24, compute_capability="9.0")],
        {"one": "w2 0", "zero": "w1"},
        {"one": {"w1": "gpu_count"}},
    ),
    "an empty label value is a value": Situation(
        [worker("w1", labels={}), worker("w2", labels={"scratch": "nvme"}), worker("w3", labels={"scratch": ""})],
        [
            job(id, more={"placement": {"worker_labels": labels}})
            for id, labels in (("empty", {"scratch": ""}), ("nvme", {"scratch": "nvme"}), ("none", {}))
        ],
        {"empty": "w3", "nvme": "w2", "none": "w1"},
        {"empty": {"w1": "label", "w2": "label"}},
    ),
    "label values keep their letter case": Situation(
        [worker("w1", labels={"fast": "true"}), worker("w2", labels={"fast": "True"}),
        worker("w3", labels={"fast": "1"})],
        [job(value, more={"placement": {"worker_labels": {"fast": value}}}) for value in ("True", "TRUE")],
        {"True": "w2", "TRUE": "unschedulable"},
        {"True": {"w1": "label", "w3": "label"}},
    ),
    "every reason is told, and of an incompatible worker no availability": Situation(
        [
            worker("w1", *[card()] * 4, state="offline", labels={"pool": "infer"}, frameworks={"torch": "2.4.1+cu121"}),
            worker("w2", *[card("80GiB")] * 2, state="offline", labels={"pool": "train"},
            frameworks={"torch": "2.5.1+cu124"}),
            worker("w3", card("80GiB"), labels={"pool": "train"}, frameworks={"torch": "2.5.1+cu124"}),
        ],
        [
            job("a", gpus=2, gpu_memory_gb="40GiB", more={
                "placement": {"worker_labels": {"pool": "train"}}, "runtime": {"frameworks": {"torch": ">=2.5"}},
            }),
        ],
        {"a": "waiting"},
        {"a": {"w1": "label framework gpu_memory", "w2": "offline", "w3": "gpu_count"}},
    ),
    "one dead device does not take the others with it": Situation(
        [worker("w1", card("32GiB"), LOST, card("32GiB"), card("32GiB"), max_concurrent_tasks=8)],
        [job("two", gpus=2, gpu_memory_gb="24GiB"), job("four", gpus=4), job("one", gpus=1, gpu_memory_gb="24GiB")],
        {"two": "w1 0,2", "four": "waiting", "one": "w1 3"},
        {"four": {"w1": "gpu_unhealthy gpu_in_use"}},
    ),
    "a holder is a kind and a name, compared whole": Situation(
        [
            worker(f"w{n}", labels={RESERVED: holder}, max_concurrent_tasks=4)
            for n, holder in enumerate(("j-12", "user:mira", "team:vision"), 1)
        ],
        [
            job("j-1", holders=["user:noor", "team:speech"]), job("j-12", holders=["user:noor"]),
            job("j-20", holders=["user:mira", "team:vision"]), job("j-21", holders=["team:vision"]),
            job("j-120", holders=["user:mira2", "team:visionary"]),
            job("j-30", holders=["user:j-12", "team:mira", "user:vision"]),
        ],
        {"j-1": "unschedulable", "j-12": "w1", "j-20": "w2", "j-21": "w3", "j-120": "unschedulable",
         "j-30": "unschedulable"},
        {"j-12": {"w2": "reserved", "w3": "reserved"}, "j-20": {"w1": "reserved", "w3": ""}},
    ),
    "devices of two makers in one host": Situation(
        [worker("w1", card("24560MiB") | AMD, card("24564MiB", "8.9"), max_concurrent_tasks=4)],
        [
            job("two", gpus=2), job("two large", gpus=2, gpu_memory_gb=20), job("two cuda", gpus=2, accelerator="cuda"),
            job("one", gpus=1), job("one rocm", gpus=1, accelerator="rocm"),
        ],
        {"two": "unschedulable", "two large": "unschedulable", "two cuda": "unschedulable", "one": "w1 1",
         "one rocm": "w1 0"},
        {"two": {"w1": "gpu_combination"}, "two large": {"w1": "gpu_combination"},
        "two cuda": {"w1": "gpu_accelerator"}},
    ),
    "of an unstated kind, the first with enough is taken": Situation(
        [worker("w1", card(), card() | AMD, card() | AMD)],
        [job("two", gpus=2)],
        {"two": "w1 1,2"},
        {},
    ),
    "a capability that another kind of device reports is none": Situation(
        [worker("w1", card("196592MiB", kind="rocm", capability="9.4")), worker("w3", card("23034MiB", "8.9"))],
        [
            job("g", gpus=1, compute_capability="9.0"), job("h", gpus=1, compute_capability=">=8.0,<10"),
            job("i", gpus=1, gpu_memory_gb=100),
        ],
        {"g": "unschedulable", "h": "w3 0", "i": "w1 0"},
        {"g": {"w1": "gpu_compute_capability", "w3": "gpu_compute_capability"}},
    ),
    "one obstacle hides the next only among devices": Situation(
        [
            worker("w1", *[card("24564MiB")] * 4), worker("w2", *[card("81559MiB")] * 2),
            worker("w3", card("81920MiB"), card("81920MiB", mig=True), card("81920MiB", mig=True), card("81920MiB")),
        ],
        [job("eight", gpus=8, gpu_memory_gb=40), job("four", gpus=4, gpu_memory_gb=40),
        job("two", gpus=2, gpu_memory_gb=40)],
        {"eight": "unschedulable", "four": "unschedulable", "two": "w2 0,1"},
        {
            "eight": {"w1": "gpu_count", "w2": "gpu_count", "w3": "gpu_count"},
            "four": {"w1": "gpu_memory", "w2": "gpu_count", "w3": "gpu_mig"}, "two": {"w1": "gpu_memory", "w3": ""},
        },
    ),
    "other obstacles are never hidden": Situation(
        [worker("w1", card(), os="windows", python="3.9.18", cpu_cores=8, memory="32GiB", labels={"zone": "b"})],
        [
            job("a", os="linux", cpu_cores=16, memory_gb=64, disk_gb="1TB", gpus=2, gpu_memory_gb=40, more={
                "placement": {"worker_labels": {"zone": "a"}}, "runtime": {"python": ">=3.10"},
            }),
        ],
        {"a": "unschedulable"},
        {"a": {"w1": "label os cpu_cores memory disk python gpu_count"}},
    ),
    "a fallback that opens only when the first choice never can": Situation(
        [
            worker("here", card(), tasks=[TASK]), worker("there",
            card("80GiB"), origin="remote", max_concurrent_tasks=4),
            worker("small", card("8GiB"), origin="remote"), worker("tired",
            card("80GiB"), origin="remote", state="draining"),
        ],
        [
            job("waits", gpus=1, gpu_memory_gb=16, more=FALL_BACK),
            job("goes", gpus=1, gpu_memory_gb=40, more=FALL_BACK),
            job("at once", more={"fallback_targets": ["remote"]}),
        ],
        {"waits": "waiting", "goes": "there 0", "at once": "small"},
        {
            "waits": {"here": "slots gpu_in_use", "there": "tier_closed", "small": "gpu_memory",
                      "tired": "draining tier_closed"},
            "goes": {"here": "gpu_memory", "tired": "draining"}, "at once": {"here": "slots", "there": ""},
        },
    ),
    "three targets, each behind the one before": Situation(
        [
            worker("here", card()), worker("there", card("80GiB"), origin="remote", state="offline"),
            worker("above", card("80GiB"), origin="cloud", max_concurrent_tasks=4),
        ],
        [
            job("e", gpus=1, gpu_memory_gb=40, more=THREE | {"fallback_when": "incompatible"}),
            job("f", gpus=1, gpu_memory_gb=40, more=THREE), job("g", gpus=1, gpu_memory_gb=100, more=THREE),
        ],
        {"e": "waiting", "f": "above 0", "g": "unschedulable"},
        {"e": {"here": "gpu_memory", "there": "offline", "above": "tier_closed"}},
    ),
    "the same system and architecture under other names": Situation(
        [
            worker("w1", os="Linux", arch="AMD64"), worker("w2", arch="aarch64"),
            worker("w3", os="Darwin", arch="arm64"),
            worker("w4", os="Windows"), worker("w5", os=None, arch=None),
        ],
        [
            job("a", os="linux", arch="x86_64"), job("b", os="macos", arch="aarch64"),
            job("c", os="LINUX", arch="ARM64"),
            job("d", arch="amd64"), job("e", os="win"),
        ],
        {"a": "w1", "b": "w3", "c": "w2", "d": "w4", "e": "unschedulable"},
        {"a": {"w2": "arch", "w3": "os arch", "w4": "os", "w5": "os arch"}, "d": {"w1": "slots"}},
    ),
    "CPU jobs take the slots of a GPU host": Situation(
        [worker("w1", card(), card())],
        [job("one"), job("two"), job("train", gpus=1)],
        {"one": "w1", "two": "w1", "train": "waiting"},
        {"train": {"w1": "slots"}},
    ),
    "what counts as a slot": Situation(
        [
            worker("broken", card(), card(health="unhealthy")), worker("none"), worker("parted", card(),
            card(mig=True)),
            worker("shared", card(None, "12.1", memory_kind="unified")), worker("vague", card(memory_kind=None)),
        ],
        [job(f"j{n}") for n in range(6)],
        {"j0": "broken", "j1": "none", "j2": "parted", "j3": "shared", "j4": "vague", "j5": "waiting"},
        {"j5": dict.fromkeys(("broken", "none", "parted", "shared", "vague"), "slots")},
    ),
}  # fmt: skip
