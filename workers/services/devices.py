"""Device rows: kept in step with what registrations find, and fed by heartbeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from scheduler.core.fleet import DEFAULT_FOREIGN_ALLOWANCE_BYTES, DeviceView
from workers.changes import devices_moved
from workers.models import Device, Event

_MATCHED = ("index", "uuid", "model", "present", "healthy", "health_note", "foreign_memory")
_READ = ("healthy", "health_note", "utilisation", "memory_used", "foreign_memory", "processes")
NOT_FOUND = "not in its latest document"
READ_ANEW = timedelta(minutes=1)
"""A reading that says nothing new is written this seldom, so that a quiet fleet costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One device in one heartbeat; None is unknown, sizes are bytes, utilisation per cent.

    `processes`: of each `pid`, `user`, `memory`, and the `task` that it belongs to.
    """

    index: int
    uuid: str | None = None
    healthy: bool | None = None
    health_note: str = ""
    utilisation: int | None = None
    memory_used: int | None = None
    foreign_memory: int | None = None
    processes: Sequence[Mapping[str, Any]] = ()


def sync_devices(found: Mapping[int, tuple[Sequence[DeviceView], frozenset[int]]]) -> set[int]:
    """Bring the rows of each worker in step with its facts' devices and the indices of those that are missing.

    Rows are never deleted: tasks may hold them. Returns the ids of workers for which something changed that can
    alter a decision.
    """
    rows: dict[int, list[Device]] = {worker_id: [] for worker_id in found}
    for row in Device.objects.filter(worker__in=found).order_by("pk"):
        rows[row.worker_id].append(row)
    new: list[Device] = []
    changed: list[Device] = []
    moving: list[int] = []
    moved: dict[int, dict[int, int]] = {}
    for worker_id, (views, missing) in found.items():
        before = {row.pk: _state(row) for row in rows[worker_id]}
        new += _matched(worker_id, rows[worker_id], views, missing)
        changed += [row for row in rows[worker_id] if _state(row) != before[row.pk]]
        moves = {row.pk: (before[row.pk][0], row.index) for row in rows[worker_id] if row.index != before[row.pk][0]}
        moving += moves
        moved[worker_id] = dict(moves.values())
    if moving:  # two devices may have changed places: neither index may be taken while the other moves
        Device.objects.filter(pk__in=moving).update(present=False)
    Device.objects.bulk_update(changed, _MATCHED)
    Device.objects.bulk_create(new)
    if moving:
        devices_moved.send(sender=Device, moves={key: moves for key, moves in moved.items() if moves})
    return {row.worker_id for row in (*new, *changed)}


def take_readings(
    readings: Mapping[int, Sequence[Reading]], *, allowances: Mapping[int, int | None], now: datetime
) -> set[int]:
    """Store what heartbeats say of devices, by worker id: one query to read, one to write.

    Returns the ids of the workers for which a device became healthy or not, or came to be used from outside or no
    longer is (`allowances`: bytes by worker, None the default). Readings of devices that nobody registered are
    passed over.
    """
    told = {(worker_id, one.uuid or one.index): one for worker_id, many in readings.items() for one in many}
    if not told:
        return set()
    changed: list[Device] = []
    fields = {"read_at"}
    altered: set[int] = set()
    events: list[Event] = []
    rows = Device.objects.filter(worker__in={worker_id for worker_id, _ in told}, present=True)
    for row in rows.annotate(worker_name=F("worker__name")):
        reading = told.get((row.worker_id, row.uuid or row.index)) or told.get((row.worker_id, row.index))
        news = {} if reading is None else _news(row, reading)
        if reading is None or not (news or row.read_at is None or now - row.read_at >= READ_ANEW):
            continue
        before, healthy = _usable(row, allowances.get(row.worker_id)), row.healthy
        for name, value in news.items():
            setattr(row, name, value)
        row.read_at = now
        if healthy != row.healthy:
            events.append(_health_event(row, row.worker_name, healthy, now))
        changed.append(row)
        fields.update(news)
        if before != _usable(row, allowances.get(row.worker_id)):
            altered.add(row.worker_id)
    # Only what is new for any of them: most readings differ in how busy a device is, and in nothing else.
    Device.objects.bulk_update(changed, sorted(fields))
    Event.objects.bulk_create(events)
    return altered


def _news(row: Device, reading: Reading) -> dict[str, Any]:
    """What the reading says that the row does not have yet."""
    told = {name: getattr(reading, name) for name in _READ} | {"processes": list(reading.processes)}
    return {name: value for name, value in told.items() if getattr(row, name) != value}


def _health_event(row: Device, worker: str, before: bool | None, now: datetime) -> Event:
    words = {None: "unknown", True: "healthy", False: "unhealthy"}
    return Event(
        at=now, actor=f"worker:{worker}", subject_kind="worker", subject=worker, verb="device health",
        before=words[before], after=words[row.healthy], cause=row.health_note[:200],
        detail={"device": row.index, "uuid": row.uuid},
    )  # fmt: skip


def _usable(row: Device, allowance: int | None) -> tuple[bool, bool]:
    bound = DEFAULT_FOREIGN_ALLOWANCE_BYTES if allowance is None else allowance
    return row.healthy is not False, (row.foreign_memory or 0) <= bound


def _state(row: Device) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _MATCHED)


def _matched(worker_id: int, rows: list[Device], views: Iterable[DeviceView], missing: frozenset[int]) -> list[Device]:
    """Write each view onto its row, by uuid or else by index; return the rows to be made."""
    by_uuid = {row.uuid: row for row in rows if row.uuid is not None}
    by_index = {row.index: row for row in rows if row.uuid is None}
    new: list[Device] = []
    kept: set[int] = set()
    for view in views:
        row = (by_uuid.get(view.uuid) if view.uuid is not None else None) or by_index.pop(view.index, None)
        if row is None:
            row = Device(worker_id=worker_id)
            new.append(row)
        else:
            kept.add(row.pk)
        _write(row, view, present=view.index not in missing)
    for row in rows:
        if row.pk not in kept:
            row.present, row.healthy, row.health_note = False, False, NOT_FOUND
    return new


def _write(row: Device, view: DeviceView, *, present: bool) -> None:
    stays = row.pk is not None and row.present and present and view.healthy is None
    row.index, row.uuid, row.model, row.present = view.index, view.uuid, view.model or "", present
    if not stays or view.foreign_memory_bytes is not None:
        row.foreign_memory = view.foreign_memory_bytes if present else None
    if not stays:
        row.healthy, row.health_note = view.healthy, view.health_note
