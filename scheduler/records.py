"""What a pass sees of each worker, as plain values: rows become these, passes store these, views are made of these.

There is one way from a record to a `WorkerView`, whether the record was read from rows a moment ago or from a pass of
last week; that is why a recorded decision can be made again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from scheduler.core.fleet import DeviceView, Fleet, TaskLoad, Window, WorkerFacts, WorkerView
from scheduler.core.spec import Origin

COMPRESSION = 6


class DeviceRecord(NamedTuple):
    """What differs from the facts, for one device. Instants are ISO 8601 texts."""

    device: int
    """Its index."""
    healthy: bool | None
    note: str
    foreign_memory: int | None
    reserved_for: str | None
    reserved_until: str | None


class TaskRecord(NamedTuple):
    """What one task holds of its worker."""

    job_id: str
    devices: tuple[int, ...]
    cpu_millicores: int
    memory_bytes: int
    disk_bytes: int


class WindowRecord(NamedTuple):
    """A reservation that has yet to begin. Instants are ISO 8601 texts."""

    holder: str
    starts_at: str
    ends_at: str | None
    devices: tuple[int, ...]
    """Indices, sorted; empty: the whole worker."""
    notice_s: int


class WorkerRecord(NamedTuple):
    """One worker at one instant. `facts` is the key of an immutable row; everything else stands here."""

    facts: int
    origin: str
    simulated: bool
    online: bool
    draining: bool
    unhealthy: bool
    note: str
    since: str | None
    labels: tuple[tuple[str, str], ...]
    reserved_for: str | None
    """Of a whole-worker reservation; None: what the facts say."""
    reserved_until: str | None
    devices: tuple[DeviceRecord, ...]
    tasks: tuple[TaskRecord, ...]
    limits: tuple[tuple[str, int], ...] = ()
    """What operators set over the facts, by the facts' own names."""
    upcoming: tuple[WindowRecord, ...] = ()
    """By their starts."""


_ALWAYS = len(WorkerRecord._fields) - len(WorkerRecord._field_defaults)


def stated(record: WorkerRecord) -> tuple[Any, ...]:
    """The fields that are written down: those that came later only where they say something.

    So what is stored, and every digest of it, is the same as before there were any.
    """
    fields: tuple[Any, ...] = tuple(record)
    while len(fields) > _ALWAYS and fields[-1] == ():
        fields = fields[:-1]
    return fields


FleetRecord = Mapping[str, WorkerRecord]
"""By worker name."""
Known = tuple[WorkerRecord, WorkerView]
FactsById = Callable[[Iterable[int]], Mapping[int, WorkerFacts]]


def fleet_of(
    records: FleetRecord, facts_by_id: FactsById, known: dict[str, Known] | None = None, *, at: datetime
) -> Fleet:
    """The core's fleet, made of records and the facts they name; `at` is the instant of the records.

    `known` remembers views between calls: of a worker that is as it was, the very same value is given again, by which
    the core knows that it has nothing new to learn of it.
    """
    facts = facts_by_id({record.facts for record in records.values()})
    known = {} if known is None else known
    views = []
    for name, record in sorted(records.items()):
        former = known.get(name)
        if former is None or former[0] != record:
            former = known[name] = (record, _viewed(name, record, facts[record.facts], former))
        views.append(replace(former[1], at=at) if record.upcoming else former[1])
    return Fleet(tuple(views))


def _viewed(name: str, record: WorkerRecord, facts: WorkerFacts, former: Known | None) -> WorkerView:
    view = view_of(name, record, facts)
    return replace(view, facts=former[1].facts) if former and former[1].facts == view.facts else view


def view_of(name: str, record: WorkerRecord, facts: WorkerFacts) -> WorkerView:
    """One worker as the core sees it."""
    return WorkerView(
        facts=_facts_now(name, record, facts),
        online=record.online,
        draining=record.draining,
        unhealthy=record.unhealthy,
        state_note=record.note,
        state_since=_instant(record.since),
        tasks=tuple(TaskLoad(**task._asdict()) for task in record.tasks),
    )


def _facts_now(name: str, record: WorkerRecord, facts: WorkerFacts) -> WorkerFacts:
    """The facts with what operators and heartbeats say on top of them."""
    reserved_for, until = facts.reserved_for, facts.reserved_until
    if record.reserved_for is not None:
        reserved_for, until = record.reserved_for, _instant(record.reserved_until)
    return replace(
        facts, id=name, origin=Origin(record.origin), simulated=record.simulated, labels=record.labels,
        reserved_for=reserved_for, reserved_until=until, devices=_devices_now(record, facts.devices),
        upcoming=tuple(map(_window, record.upcoming)), **dict(record.limits),  # type: ignore[arg-type]
    )  # fmt: skip


def _window(record: WindowRecord) -> Window:
    return Window(
        holder=record.holder, starts_at=datetime.fromisoformat(record.starts_at), ends_at=_instant(record.ends_at),
        devices=record.devices, notice_s=record.notice_s,
    )  # fmt: skip


def _devices_now(record: WorkerRecord, devices: tuple[DeviceView, ...] | None) -> tuple[DeviceView, ...] | None:
    if devices is None:
        return None
    # A simulated device has no health but the one it was given.
    usual = None if record.simulated else True
    changed = {change.device: change for change in record.devices}
    return tuple(_device_now(device, changed.get(device.index), usual) for device in devices)


def _device_now(device: DeviceView, change: DeviceRecord | None, usual: bool | None) -> DeviceView:
    if change is None:
        return device if device.healthy is usual else replace(device, healthy=usual)
    reserved_for, until = device.reserved_for, device.reserved_until
    if change.reserved_for is not None:
        reserved_for, until = change.reserved_for, _instant(change.reserved_until)
    return replace(
        device, healthy=change.healthy, health_note=change.note, foreign_memory_bytes=change.foreign_memory,
        reserved_for=reserved_for, reserved_until=until,
    )  # fmt: skip


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def changes(before: FleetRecord | None, after: FleetRecord) -> dict[str, WorkerRecord | None]:
    """What to write down so that `after` can be made of `before`; None: the worker is gone."""
    before = before or {}
    delta: dict[str, WorkerRecord | None] = {
        name: record for name, record in after.items() if before.get(name) != record
    }
    delta.update({name: None for name in before if name not in after})
    return delta


def applied(before: FleetRecord, delta: Mapping[str, WorkerRecord | None]) -> dict[str, WorkerRecord]:
    """The fleet after those changes."""
    after = {**before, **{name: record for name, record in delta.items() if record is not None}}
    return {name: record for name, record in after.items() if name not in delta or delta[name] is not None}


def packed_delta(delta: Mapping[str, WorkerRecord | None]) -> bytes:
    """The changes as they are written down."""
    return packed({name: record and stated(record) for name, record in delta.items()})


def packed(value: Any) -> bytes:
    """JSON, compressed."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return zlib.compress(text.encode(), COMPRESSION)


def unpacked(data: bytes | memoryview) -> Any:
    """What was packed; tuples have become lists."""
    return json.loads(zlib.decompress(data))


def record_from(fields: list[Any]) -> WorkerRecord:
    """A worker's record back from JSON."""
    record = WorkerRecord(*fields)
    return record._replace(
        labels=tuple((key, value) for key, value in record.labels),
        devices=tuple(DeviceRecord(*device) for device in record.devices),
        tasks=tuple(TaskRecord(job_id, tuple(held), *amounts) for job_id, held, *amounts in record.tasks),
        limits=tuple((name, value) for name, value in record.limits),
        upcoming=tuple(
            WindowRecord(holder, starts_at, ends_at, tuple(held), notice_s)
            for holder, starts_at, ends_at, held, notice_s in record.upcoming
        ),
    )


def delta_from(data: bytes | memoryview) -> dict[str, WorkerRecord | None]:
    """The changes that a pass wrote down."""
    return {name: None if fields is None else record_from(fields) for name, fields in unpacked(data).items()}
