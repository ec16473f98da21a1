"""Everything a host is and has, as the worker document with which its agent registers; and how its devices do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.agent.command import Environment
from workers.agent.device_use import Holder, use_of
from workers.agent.environments import DEFAULT, inspect
from workers.agent.host import outgoing_address, read_host
from workers.agent.nvml import DeviceReading, Nvml, Reading

GONE = "missing: NVML no longer shows it"
FACTS = ("uuid", "model", "memory", "memory_kind", "compute_capability", "mig")
NO_ROUTE = "this host has no way out; --advertise-address says where others reach it"


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
    """A worker document, and why what is missing in it is unknown, by its place there."""

    document: dict[str, Any]
    unknown: dict[str, str]

    @property
    def notes(self) -> tuple[str, ...]:
        """The same as sentences."""
        return tuple(f"{path}: {why}" for path, why in self.unknown.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBeat:
    """What a heartbeat says of devices. `changed`: they are others than at the last `read`, which is due again."""

    devices: list[dict[str, Any]] = field(default_factory=list)
    strays: list[dict[str, Any]] = field(default_factory=list)
    changed: bool = False


class Probe:
    """One host. Environments are inspected once, which takes seconds; host and devices each time."""

    def __init__(
        self, identity: Identity, environments: Mapping[str, Environment], disk: Path, nvml: Nvml | None = None
    ) -> None:
        self._identity = identity
        self._environments = environments
        self._disk = disk
        self._nvml = nvml or Nvml()
        self._inspected: dict[str, tuple[dict[str, Any], str]] = {}
        self._known: tuple[DeviceReading, ...] | None = None
        self._holders: Sequence[Holder] = ()

    def read(self) -> Probed:
        """The document of this moment."""
        for name, environment in self._environments.items():
            if self._inspected.get(name, ({}, "never"))[1]:  # what failed once may have been put right
                self._inspected[name] = inspect(environment)
        reading = self._nvml.read()
        self._known = reading.devices
        facts = {name: document for name, (document, _) in self._inspected.items()}
        host, unknown = read_host(self._disk)
        identity = _identity(self._identity)
        if identity["advertise_address"] is None:
            unknown["advertise_address"] = NO_ROUTE
        unknown |= {f"environments.{name}": note for name, (_, note) in self._inspected.items() if note}
        unknown |= _unknown(reading)
        document = {
            "version": 1,
            **identity,
            **host,
            **facts[DEFAULT],
            "environments": {name: each for name, each in facts.items() if name != DEFAULT},
            "driver": reading.driver,
            "devices": None if reading.devices is None else [self._device(each) for each in reading.devices],
        }
        return Probed(document=document, unknown=unknown)

    def device_states(self, holders: Sequence[Holder] = (), quarantined: Mapping[str, str] | None = None) -> DeviceBeat:
        """How each device does that the last `read` found. `quarantined`: by uuid, why a device must not be used."""
        self._holders = holders
        reading, known = self._nvml.read(), self._known or ()
        now = reading.devices if reading.devices is not None else ()
        names = {_name(each) for each in now}
        why = GONE if reading.devices is not None else "; ".join(reading.unknown.values())
        lacking = [
            DeviceReading(index=each.index, uuid=each.uuid, healthy=False, health_note=why)
            for each in known
            if _name(each) not in names
        ]
        states: list[dict[str, Any]] = []
        strays: list[dict[str, Any]] = []
        for each in _at_known_places((*now, *lacking)):
            use = use_of(each, holders)
            states.append(_state(each, (quarantined or {}).get(each.uuid or "")))
            states[-1] |= {"foreign_memory": use.foreign_memory, "processes": list(use.processes)}
            strays += use.strays
        return DeviceBeat(devices=states, strays=strays, changed=_shape(reading.devices) != _shape(self._known))

    def close(self) -> None:
        """Let NVML go."""
        self._nvml.close()

    def _device(self, reading: DeviceReading) -> dict[str, Any]:
        health = None if reading.healthy is None else "ok" if reading.healthy else "unhealthy"
        return {
            "index": reading.index, "uuid": reading.uuid, "model": reading.model, "kind": "cuda",
            "memory": _size(reading.memory), "memory_kind": reading.memory_kind,
            "compute_capability": reading.compute_capability, "mig": reading.mig,
            "health": health, "health_note": reading.health_note,
            "foreign_memory": _size(use_of(reading, self._holders).foreign_memory),
        }  # fmt: skip


def _identity(identity: Identity) -> dict[str, Any]:
    return {
        "id": identity.name, "origin": identity.origin, "provider": identity.provider, "region": identity.region,
        "labels": dict(identity.labels), "max_concurrent_tasks": identity.max_concurrent_tasks,
        "advertise_address": identity.advertise_address or outgoing_address(),
    }  # fmt: skip


def _unknown(reading: Reading) -> dict[str, str]:
    """Why fields of the worker document are unknown; a lost device has one reason for all of them."""
    found = dict(reading.unknown)
    for device in reading.devices or ():
        place = f"devices[{device.index}]"
        found |= {f"{place}.{name}": why for name, why in device.unknown.items() if name in FACTS}
        if "processes" in device.unknown:
            found[f"{place}.foreign_memory"] = device.unknown["processes"]
        if device.healthy is None or (device.uuid is None and device.healthy is False):
            found[f"{place}.health" if device.healthy is None else place] = device.health_note
    return found


def _name(device: DeviceReading) -> str:
    return device.uuid or f"#{device.index}"


def _shape(devices: Sequence[DeviceReading] | None) -> list[tuple[int, str | None]] | None:
    return None if devices is None else [(each.index, each.uuid) for each in devices]


def _at_known_places(devices: Sequence[DeviceReading]) -> list[DeviceReading]:
    """Where a missing device's index belongs to another one by now, the one that is there speaks."""
    placed: dict[int, DeviceReading] = {}
    for each in devices:
        placed.setdefault(each.index, each)
    return list(placed.values())


def _size(size: int | None) -> str | None:
    return None if size is None else f"{size}B"


def _state(reading: DeviceReading, quarantine: str | None) -> dict[str, Any]:
    return {
        "index": reading.index, "uuid": reading.uuid, "utilisation": reading.utilisation,
        "memory_used": reading.memory_used, "healthy": False if quarantine else reading.healthy,
        "health_note": quarantine or reading.health_note,
    }  # fmt: skip
