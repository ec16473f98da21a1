"""A worker as the pages show it: words for its state, its devices as boxes, and what nobody knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils import timezone

from scheduler.core.explain import size
from scheduler.core.fleet import DeviceView, EnvironmentView, WorkerFacts, WorkerView
from workers.devices import DeviceBox, device_boxes, free_count, summary
from workers.models import Intent, Liveness, Worker
from workers.moments import duration, minute
from workers.services.limits import limits_of

FRESH_SECONDS = 20
MIB = 1024 * 1024
LABELS_IN_A_ROW = 3
FRAMEWORKS_AT_ONCE = 8
FRAMEWORKS = (
    "torch", "torchvision", "torchaudio", "jax", "jaxlib", "tensorflow", "transformers", "vllm", "deepspeed", "triton",
    "flash-attn", "lightning", "accelerate", "numpy",
)  # fmt: skip
"""Those shown first, whatever else an environment has."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment as a row of a table; None is unknown."""

    name: str
    python: str | None
    frameworks: tuple[str, ...] | None
    extras: str
    why: str = ""
    """Why it could not be asked this time."""

    @property
    def first_frameworks(self) -> tuple[str, ...]:
        """What jobs usually ask for, else the first few."""
        listed = self.frameworks or ()
        known = tuple(text for text in listed if text.split(" ")[0] in FRAMEWORKS)
        return (known or listed)[:FRAMEWORKS_AT_ONCE]

    @property
    def more_frameworks(self) -> tuple[str, ...]:
        """Everything else that is installed."""
        return tuple(text for text in self.frameworks or () if text not in self.first_frameworks)

    @property
    def torch(self) -> str:
        """The version of its torch; empty where it has none or nobody knows."""
        return next((text.removeprefix("torch ") for text in self.frameworks or () if text.startswith("torch ")), "")


@dataclass(frozen=True, slots=True)
class Fact:
    """One capability: what it is called and how much; None is unknown."""

    name: str
    value: str | None
    why: str = ""
    """Why it could not be read this time."""
    beside: str = ""
    """Who says so, where it is not the agent, and what that says."""


class WorkerRow:
    """A worker's row beside what a pass would see of it (None: a pass would not see it)."""

    def __init__(self, worker: Worker, view: WorkerView | None) -> None:
        self.worker = worker
        self.view = view

    @cached_property
    def pill(self) -> tuple[str, str]:
        """Kind and text of its state: the worst thing first."""
        if self.worker.liveness == Liveness.ENROLLED or self.worker.last_seen_at is None:
            return "none", "Never seen"
        view = self.view
        if view is None or not view.online:
            return "offline", "Offline"
        if view.unhealthy:
            return "unhealthy", "Unhealthy"
        if view.draining:
            return "draining", "Drained" if self.worker.intent == Intent.DRAINED else "Draining"
        if view.facts.reserved_for:
            until = view.facts.reserved_until
            return "rsv", f"Reserved until {minute(until, now=timezone.now())}" if until else "Reserved"
        return "ok", "Online"

    @property
    def note(self) -> str:
        """Why it is draining or unhealthy, and for whom it is reserved."""
        if self.view is None:
            return ""
        holder = self.view.facts.reserved_for
        reserved = f"reserved for {holder.replace(':', ' ', 1)}" if holder else ""
        return "; ".join(filter(None, (self.view.state_note, self.deadline, reserved)))

    @property
    def deadline(self) -> str:
        """When its drain is to be over, and what becomes of what still runs then."""
        until = self.worker.drain_deadline
        if until is None or self.worker.intent != Intent.DRAINING:
            return ""
        then = "what still runs then is stopped" if self.worker.drain_stops else "what still runs then is waited for"
        told = minute(until, now=timezone.now())
        return f"to be empty by {told}: {then}" if until > timezone.now() else f"was to be empty by {told}"

    @cached_property
    def boxes(self) -> tuple[DeviceBox, ...]:
        """Its devices as drawn."""
        return device_boxes(self.view) if self.view else ()

    @property
    def free(self) -> int:
        """How many devices could be given out now."""
        return free_count(self.boxes)

    @property
    def gpus(self) -> str:
        """Its GPUs in words."""
        return summary(self.view) if self.view else "not reported yet"

    @property
    def labels(self) -> list[str]:
        """`key=value` of every label."""
        return [f"{key}={value}" for key, value in self.view.facts.labels] if self.view else []

    @property
    def first_labels(self) -> list[str]:
        """Those that fit into a list."""
        return self.labels[:LABELS_IN_A_ROW]

    @property
    def more_labels(self) -> int:
        """How many labels the list leaves out."""
        return max(0, len(self.labels) - LABELS_IN_A_ROW)

    @property
    def heartbeat(self) -> str:
        """When it was last heard of; a steady worker reads the same at every look."""
        seen: datetime | None = self.worker.last_seen_at
        if seen is None:
            return "never"
        age = (timezone.now() - seen).total_seconds()
        return "just now" if age < FRESH_SECONDS else f"{duration(age, coarse=True)} ago"

    @property
    def runs_as(self) -> str:
        """Whose account jobs run in there, as its agent says."""
        if self.worker.host.get("run_as_submitter"):
            return "jobs run as who submitted them"
        user = self.worker.host.get("user")
        return f"jobs run as user {user}" if isinstance(user, str) and user else ""

    @property
    def unknown_count(self) -> int:
        """How many of its capabilities nobody knows."""
        return sum(fact.value is None for fact in self.facts)

    @property
    def models(self) -> list[tuple[str, str]]:
        """Each model with how many there are, and the memory of one where its name doesn't say it; without the maker
        that most share.
        """
        counted: dict[tuple[str, str], int] = {}
        for device in (self.view.facts.devices if self.view else None) or ():
            model = (device.model or "unknown model").removeprefix("NVIDIA ")
            memory = "? GB" if device.memory_bytes is None else "" if "GB" in model else size(device.memory_bytes)
            counted[model, memory] = counted.get((model, memory), 0) + 1
        return [(f"{number} × {model}", memory) for (model, memory), number in counted.items()]

    @cached_property
    def facts(self) -> list[Fact]:
        """What it has, including what is unknown."""
        return [*_facts(self.view, self.worker.unknown), *_limits(self.worker)] if self.view else []

    @property
    def environments(self) -> list[Environment]:
        """Its environments, `default` first."""
        why = self.worker.unknown
        environments = self.view.facts.environments if self.view else ()
        return [_environment(name, env, why.get(f"environments.{name}", "")) for name, env in environments]

    @property
    def torches(self) -> list[tuple[str, str]]:
        """(environment, its torch or nothing) for every environment."""
        return [(environment.name, environment.torch) for environment in self.environments]


def _environment(name: str, env: EnvironmentView, why: str) -> Environment:
    listed = None if env.frameworks is None else tuple(f"{key} {version or '?'}" for key, version in env.frameworks)
    parts = ((env.launchers or ()), (env.comm_backends or ()))
    return Environment(name, env.python, listed, "; ".join(", ".join(part) for part in parts if part), why)


def _facts(view: WorkerView, why: Mapping[str, str]) -> list[Fact]:
    facts = view.facts
    devices = facts.devices
    capabilities = sorted({device.compute_capability for device in devices or () if device.compute_capability})
    unread = next((text for path, text in why.items() if path.endswith(".compute_capability")), "")
    drivers = [
        Fact("Driver", facts.driver, why.get("driver", "")),
        Fact("Compute capability", ", ".join(capabilities) or None, unread),
    ]
    place = [Fact(name, value) for name, value in (("Provider", facts.provider), ("Region", facts.region)) if value]
    return [
        Fact("GPUs", None if devices is None else summary(view), why.get("devices", "")),
        *_memory(facts.devices, why),
        *(drivers if devices or devices is None else ()),
        Fact("CPU cores", None if facts.cpu_millicores is None else f"{facts.cpu_millicores / 1000:g}"),
        Fact("RAM", None if facts.memory_bytes is None else size(facts.memory_bytes)),
        Fact("Disk for jobs", None if facts.disk_bytes is None else size(facts.disk_bytes), why.get("disk", "")),
        Fact("System", _system(facts), why.get("os", why.get("os_version", ""))),
        Fact("Architecture", facts.arch, why.get("arch", "")),
        *place,
        Fact("Address for gangs", facts.advertise_address, why.get("advertise_address", "")),
    ]


def _memory(devices: Sequence[DeviceView] | None, why: Mapping[str, str]) -> Iterator[Fact]:
    """The memory of each different device, as it is measured: in the units of makers and of drivers."""
    sizes = list(dict.fromkeys(device.memory_bytes for device in devices or ()))
    told = [f"{size(each)} ({each // MIB:,} MiB)" for each in sizes if each is not None]
    if devices:
        unread = next((text for path, text in why.items() if path.endswith(".memory")), "")
        yield Fact("GPU memory", None if None in sizes else "; ".join(told), unread)


def _limits(worker: Worker) -> list[Fact]:
    return [
        Fact(limit.label, limit.value, beside=f"set by an operator; the agent says {limit.agents}" * limit.by_operator)
        for limit in limits_of(worker)
    ]


def _system(facts: WorkerFacts) -> str | None:
    version = f"version {facts.os_version}" if facts.os_version else None
    return ", ".join(filter(None, (facts.os, version))) or None
