"""The devices of a worker document."""

from __future__ import annotations

from enum import StrEnum

from scheduler.core.fleet import DeviceView
from scheduler.core.holders import HOLDER, holder
from scheduler.core.quantities import parse_size
from scheduler.core.readers import checked, converted, instant, line, list_of, one_of, truth, whole
from scheduler.core.reading import At, Section
from scheduler.core.spec import Accelerator, MemoryKind

MOST_DEVICES = 4_096
HIGHEST_INDEX = 65_535
LONGEST_FACT = 500
SIZE = 'a size with its unit, such as "81559MiB"; a plain number is GB'
_FIELDS = (
    "index", "uuid", "model", "kind", "memory", "memory_kind", "compute_capability", "mig", "health", "health_note",
    "foreign_memory", "reserved_for", "reserved_until",
)  # fmt: skip


class Health(StrEnum):
    """How a device is said to be."""

    OK = "ok"
    UNHEALTHY = "unhealthy"


def _had_size(value: object) -> int | None:
    return parse_size(value, at_least=False)


had_size = converted(_had_size, SIZE)
device_index = whole(0, HIGHEST_INDEX)
held_for = checked(line(what="holders", longest=300), holder, HOLDER)


def fact(what: str) -> _Fact:
    """A reader of one line of text in which the empty text stands for unknown."""
    return _Fact(what)


class _Fact:
    def __init__(self, what: str) -> None:
        self._read = line(what=what, longest=LONGEST_FACT, empty=True)

    def __call__(self, value: object, at: At) -> str | None:
        return self._read(value, at) or None


_name, _version = fact("names"), fact("versions")


def read_devices(value: object, at: At) -> tuple[DeviceView, ...] | None:
    """The devices by index; indices and uuids may stand only once."""
    devices = list_of(_read_device, most=MOST_DEVICES)(value, at)
    if devices is None:
        return None
    indices: set[int] = set()
    uuids: set[str] = set()
    for device in devices:
        if device.index in indices:
            at.note(f"index {device.index} twice", "each device's own index")
        if device.uuid is not None and device.uuid in uuids:
            at.note(f"uuid {device.uuid} twice", "each device's own uuid")
        indices.add(device.index)
        uuids.add(device.uuid or "")
    return tuple(sorted(devices, key=lambda device: device.index))


def _read_device(value: object, at: At) -> DeviceView | None:
    device = Section(value, at, _FIELDS)
    index = device.require("index", device_index, "the host's own number of this device")
    health = device.read("health", one_of(Health))
    reserved_for = device.read("reserved_for", held_for)
    reserved_until = device.read("reserved_until", instant)
    view = DeviceView(
        index=index or 0,
        uuid=device.read("uuid", _name),
        model=device.read("model", _name),
        kind=device.read("kind", one_of(Accelerator)),
        memory_bytes=device.read("memory", had_size),
        memory_kind=device.read("memory_kind", one_of(MemoryKind)),
        compute_capability=device.read("compute_capability", _version),
        mig=device.read("mig", truth),
        healthy=None if health is None else health is Health.OK,
        health_note=device.read_or("health_note", _name, ""),
        foreign_memory_bytes=device.read("foreign_memory", had_size),
        reserved_for=reserved_for,
        reserved_until=reserved_until if reserved_for else None,
    )
    return None if index is None else view
