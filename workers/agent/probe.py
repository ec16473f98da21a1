"""Everything a host is and has, as the worker document with which its agent registers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.agent.command import Environment
from workers.agent.environments import DEFAULT, inspect
from workers.agent.host import read_host
from workers.agent.nvml import DeviceReading, Nvml


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What only a person can say of a worker."""

    name: str
    origin: str
    provider: str | None = None
    region: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    advertise_address: str | None = None
    max_concurrent_tasks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A worker document, and a sentence for each thing that could not be found out."""

    document: dict[str, Any]
    notes: tuple[str, ...]


class Probe:
    """One host. Environments are inspected once, which takes seconds; host and devices each time."""

    def __init__(
        self, identity: Identity, environments: Mapping[str, Environment], disk: Path, nvml: Nvml | None = None
    ) -> None:
        self._identity = identity
        self._environments = environments
        self._disk = disk
        self._nvml = nvml or Nvml()
        self._inspected: dict[str, tuple[dict[str, Any], str]] | None = None

    def read(self) -> Probed:
        """The document of this moment."""
        if self._inspected is None:
            self._inspected = {name: inspect(each) for name, each in self._environments.items()}
        reading = self._nvml.read()
        facts = {name: document for name, (document, _) in self._inspected.items()}
        problems = [f"environment {name}: {note}" for name, (_, note) in self._inspected.items() if note]
        document = {
            "version": 1,
            **_identity(self._identity),
            **read_host(self._disk),
            **facts[DEFAULT],
            "environments": {name: each for name, each in facts.items() if name != DEFAULT},
            "driver": reading.driver,
            "devices": None if reading.devices is None else [_device(each) for each in reading.devices],
        }
        return Probed(document=document, notes=(*problems, *reading.notes))

    def device_states(self, known: int, own_pids: Collection[int]) -> list[dict[str, Any]]:
        """What a heartbeat says of each device; where NVML fails, that of the `known` ones each is unhealthy."""
        reading = self._nvml.read(own_pids)
        if reading.devices is None:
            note = "; ".join(reading.notes)
            return [_state(DeviceReading(index=index, healthy=False, health_note=note)) for index in range(known)]
        return [_state(each) for each in reading.devices]

    def close(self) -> None:
        """Let NVML go."""
        self._nvml.close()


def _identity(identity: Identity) -> dict[str, Any]:
    return {
        "id": identity.name, "origin": identity.origin, "provider": identity.provider, "region": identity.region,
        "labels": dict(identity.labels), "advertise_address": identity.advertise_address,
        "max_concurrent_tasks": identity.max_concurrent_tasks,
    }  # fmt: skip


def _device(reading: DeviceReading) -> dict[str, Any]:
    health = None if reading.healthy is None else "ok" if reading.healthy else "unhealthy"
    return {
        "index": reading.index, "uuid": reading.uuid, "model": reading.model, "kind": "cuda",
        "memory": _size(reading.memory), "memory_kind": reading.memory_kind,
        "compute_capability": reading.compute_capability, "mig": reading.mig,
        "health": health, "health_note": reading.health_note, "foreign_memory": _size(reading.foreign_memory),
    }  # fmt: skip


def _size(size: int | None) -> str | None:
    return None if size is None else f"{size}B"


def _state(reading: DeviceReading) -> dict[str, Any]:
    return {
        "index": reading.index, "healthy": reading.healthy, "health_note": reading.health_note,
        "utilisation": reading.utilisation, "memory_used": reading.memory_used,
        "foreign_memory": reading.foreign_memory,
    }  # fmt: skip
