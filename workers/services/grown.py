"""Facts that never shrink by themselves: what was accepted and is not read now stays, until an operator lets it go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from scheduler.core.fleet import DeviceView, EnvironmentView, WorkerFacts

MISSING = "missing: the last registration did not find it"
_PROBED = ("os", "os_version", "arch", "cpu_millicores", "memory_bytes", "disk_bytes", "driver", "advertise_address")
"""What a probe may fail to read once; a value that was accepted stays."""
_SIZES = ("cpu_millicores", "memory_bytes")
_OF_DEVICES = ("uuid", "model", "kind", "memory_bytes", "memory_kind", "compute_capability", "mig")
SLACK = 16
"""A new kernel keeps a little more for itself; only what shrinks by more than this part of it is less."""

T = TypeVar("T", DeviceView, WorkerFacts)


@dataclass(frozen=True, slots=True)
class Grown:
    """What counts from now on (`kept`), and what was read (`read`); they differ where something is missing."""

    kept: WorkerFacts
    read: WorkerFacts
    missing: frozenset[int] = frozenset()
    """Indices, among the kept devices, of those that were not found."""

    @property
    def is_less(self) -> bool:
        """Whether less was read than is kept."""
        return self.kept != self.read

    @property
    def lacks_size(self) -> bool:
        """Whether the host itself has become smaller: what is promised there may not be there."""
        return any(getattr(self.kept, name) != getattr(self.read, name) for name in _SIZES)


def grown(former: WorkerFacts, latest: WorkerFacts) -> Grown:
    """The latest facts, whatever could not be read taken from the former ones, and whatever they lack kept.

    A device is known by its uuid. Software is what it is now: a package that is gone was read as gone.
    """
    read = _filled(latest, former, _PROBED)
    read = replace(read, environments=_environments(former, latest))
    found, lacking = _matched(former.devices or (), latest.devices or ())
    beside = list(_beside({device.index for device in found}, lacking))
    sizes = {name: getattr(former, name) for name in _SIZES if _shrank(getattr(former, name), getattr(read, name))}
    known = latest.devices is not None or former.devices is not None
    in_order = tuple(sorted((*found, *beside), key=lambda device: device.index))
    kept = replace(read, devices=in_order if known else None, **sizes)
    # Devices that nobody could read are no smaller offer: there is nothing to accept.
    read = replace(read, devices=kept.devices if latest.devices is None else tuple(found))
    return Grown(kept, read, frozenset(device.index for device in beside))


def _matched(former: Iterable[DeviceView], latest: Iterable[DeviceView]) -> tuple[list[DeviceView], list[DeviceView]]:
    """The devices found, each with what was known of it before; and those known before that were not found."""
    lacking = {device.uuid or device.index: device for device in former}
    found = {device.index: device for device in latest}
    for device in latest:
        before = lacking.pop(device.uuid or device.index, None)
        if before is not None:
            found[device.index] = _filled(device, before, _OF_DEVICES)
    for device in latest:  # one that does not even say its uuid is one of those that are lacking
        if device.uuid is None and device.healthy is False and lacking:
            at_its_place = [key for key, each in lacking.items() if each.index == device.index]
            found[device.index] = _filled(device, lacking.pop((at_its_place or list(lacking))[0]), _OF_DEVICES)
    return list(found.values()), list(lacking.values())


def _beside(taken: set[int], lacking: Iterable[DeviceView]) -> Iterable[DeviceView]:
    """Missing devices keep their index, or move behind the others where another device has it now."""
    for device in lacking:
        index = device.index
        while index in taken:
            index += 1
        taken.add(index)
        yield replace(device, index=index, healthy=False, health_note=MISSING)


def _environments(former: WorkerFacts, latest: WorkerFacts) -> tuple[tuple[str, EnvironmentView], ...]:
    """Those that are named now. One that could not be asked is what it was."""
    before, unread = dict(former.environments), EnvironmentView()
    return tuple((name, before.get(name, each) if each == unread else each) for name, each in latest.environments)


def _filled(latest: T, former: T, names: Iterable[str]) -> T:
    return replace(latest, **{name: getattr(former, name) for name in names if getattr(latest, name) is None})


def _shrank(former: int | None, latest: int | None) -> bool:
    return former is not None and latest is not None and latest < former - former // SLACK
