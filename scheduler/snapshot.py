"""Rows -> core values: the fleet and the queue as they are now, for a fixed number of queries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db.models import Q, TextField
from django.db.models.functions import Cast

from scheduler.core.fleet import Fleet
from scheduler.facts import facts_by_id
from scheduler.memory import remembered
from scheduler.models import Reservation, Task
from scheduler.records import DeviceRecord, Known, TaskRecord, WindowRecord, WorkerRecord, fleet_of
from workers.models import Device, Health, Intent, Label, LabelSource, Liveness, Worker

IN_FLEET = Q(liveness__in=(Liveness.ONLINE, Liveness.SUSPECT, Liveness.LOST)) & ~Q(intent=Intent.RETIRED)
_OF_FLEET = Q(worker__liveness__in=(Liveness.ONLINE, Liveness.SUSPECT, Liveness.LOST)) & ~Q(
    worker__intent=Intent.RETIRED
)
_USUAL_DEVICE = (
    Q(present=True)
    & (Q(foreign_memory__isnull=True) | Q(foreign_memory=0))
    & (Q(healthy=True) | Q(healthy__isnull=True, worker__simulated=True))
)
GONE_NOTE = "missing since the last probe"


MOST_STRANGERS = 1_000
"""How many workers are remembered that are not asked for at the moment."""

_known: dict[str, Known] = remembered({})


@dataclass(frozen=True, slots=True)
class WorkerKey:
    """What a commit needs of a chosen worker: its row, and the version it was seen at."""

    pk: int
    version: int


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """The fleet at one instant."""

    records: Mapping[str, WorkerRecord]
    keys: Mapping[str, WorkerKey]
    at: datetime
    """The instant."""
    silent: tuple[int, ...] = ()
    """Keys of the workers that are still called online, and have missed their heartbeats."""

    def fleet(self, at: datetime | None = None) -> Fleet:
        """As the core sees it; `at`: as it saw it at an earlier instant at which the records were the same."""
        if len(_known) > 2 * len(self.records) + MOST_STRANGERS:
            _known.clear()
        return fleet_of(self.records, facts_by_id, _known, at=at or self.at)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Everything that hangs on workers, by the worker's key."""

    labels: Mapping[int, tuple[tuple[str, str], ...]]
    whole: Mapping[int, Reservation]
    upcoming: Mapping[int, tuple[WindowRecord, ...]]
    devices: Mapping[int, tuple[DeviceRecord, ...]]
    tasks: Mapping[int, tuple[TaskRecord, ...]]


def take_fleet(*, now: datetime, names: list[str] | None = None) -> FleetSnapshot:
    """The fleet as it is at `now` by the server's clock, or only these workers of it: six queries at most."""
    which, of_which = IN_FLEET & Q(facts__isnull=False), _OF_FLEET
    if names is not None:
        which, of_which = which & Q(name__in=names), of_which & Q(worker__name__in=names)
    rows = list(Worker.objects.filter(which).order_by("name", "pk").values(*_WORKER_FIELDS))
    readable = facts_by_id(row["facts_id"] for row in rows)
    rows = [row for row in rows if row["facts_id"] in readable]
    sides = _sides(of_which, now)
    return FleetSnapshot(
        records={row["name"]: _record(row, sides, now) for row in rows},
        keys={row["name"]: WorkerKey(row["pk"], row["version"]) for row in rows},
        at=now,
        silent=tuple(row["pk"] for row in rows if row["liveness"] == Liveness.ONLINE and is_silent(row, now)),
    )


_WORKER_FIELDS = (
    "pk", "name", "origin", "simulated", "liveness", "intent", "intent_note", "health", "health_note", "state_since",
    "heartbeat_seconds", "last_seen_at", "facts_id", "version", "limits",
)  # fmt: skip


def is_silent(row: Mapping[str, Any], now: datetime) -> bool:
    """Whether a worker has missed its heartbeats, by the server's clock alone."""
    return bool(row["last_seen_at"] < now - timedelta(seconds=settings.HEARTBEATS_MISSED * row["heartbeat_seconds"]))


def _record(row: dict[str, Any], sides: _Sides, now: datetime) -> WorkerRecord:
    pk = row["pk"]
    whole = sides.whole.get(pk)
    draining = row["intent"] in (Intent.DRAINING, Intent.DRAINED)
    unhealthy = row["health"] == Health.UNHEALTHY
    notes = [row["intent_note"] if draining else "", row["health_note"] if unhealthy else ""]
    return WorkerRecord(
        facts=row["facts_id"],
        origin=row["origin"],
        simulated=row["simulated"],
        online=row["liveness"] == Liveness.ONLINE and not is_silent(row, now),
        draining=draining,
        unhealthy=unhealthy,
        note="; ".join(filter(None, notes)),
        since=_text(row["state_since"]),
        labels=sides.labels.get(pk, ()),
        reserved_for=whole.holder if whole else None,
        reserved_until=_text(whole.ends_at) if whole else None,
        devices=sides.devices.get(pk, ()),
        tasks=sides.tasks.get(pk, ()),
        limits=tuple(sorted(row["limits"].items())),
        upcoming=sides.upcoming.get(pk, ()),
    )


def _sides(of_which: Q, now: datetime) -> _Sides:
    whole: dict[int, Reservation] = {}
    kept: dict[tuple[int, int], Reservation] = {}
    ahead: defaultdict[int, list[WindowRecord]] = defaultdict(list)
    for reservation in _live_reservations(now).filter(of_which).order_by("-pk"):
        if reservation.starts_at > now:
            ahead[reservation.worker_id].append(_window(reservation))
            continue
        if not reservation.devices:
            whole[reservation.worker_id] = reservation
        for index in reservation.devices:
            kept[reservation.worker_id, index] = reservation
    upcoming = {worker: tuple(sorted(windows, key=_first_to_begin)) for worker, windows in ahead.items()}
    return _Sides(_labels(of_which), whole, upcoming, _devices(of_which, kept), _tasks(of_which))


def _live_reservations(now: datetime) -> Any:
    """Reservations in force at `now`, and those that are to begin."""
    return Reservation.objects.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), cancelled_at__isnull=True)


def _window(reservation: Reservation) -> WindowRecord:
    return WindowRecord(
        holder=reservation.holder,
        starts_at=reservation.starts_at.isoformat(),
        ends_at=_text(reservation.ends_at),
        devices=tuple(sorted(reservation.devices)),
        notice_s=round(settings.GPULAYER_RESERVATION_NOTICE_SECONDS),
    )


def _first_to_begin(window: WindowRecord) -> tuple[datetime, tuple[int, ...], str]:
    return datetime.fromisoformat(window.starts_at), window.devices, window.holder


def _labels(of_which: Q) -> dict[int, tuple[tuple[str, str], ...]]:
    said: defaultdict[int, dict[str, str]] = defaultdict(dict)
    rows = Label.objects.filter(of_which).values_list("worker_id", "key", "value", "source")
    # Operators last: their values stand.
    for worker, key, value, _ in sorted(rows, key=lambda row: row[3] == LabelSource.OPERATOR):
        said[worker][key] = value
    return {worker: tuple(sorted(labels.items())) for worker, labels in said.items()}


def _devices(of_which: Q, kept: Mapping[tuple[int, int], Reservation]) -> dict[int, tuple[DeviceRecord, ...]]:
    """Only devices of which something unusual is to be said; there are far fewer of them than devices."""
    unusual = Device.objects.filter(of_which).exclude(_USUAL_DEVICE).order_by("worker_id", "index", "-present")
    rows = unusual.values_list("worker_id", "index", "present", "healthy", "health_note", "foreign_memory")
    found: dict[tuple[int, int], DeviceRecord] = {}
    for worker, index, present, healthy, note, foreign in rows:
        if (worker, index) not in found:
            state = (healthy, note) if present else (False, note or GONE_NOTE)
            found[worker, index] = DeviceRecord(index, *state, foreign, None, None)
    for (worker, index), reservation in kept.items():
        usual = DeviceRecord(index, True, "", None, None, None)
        found[worker, index] = found.get((worker, index), usual)._replace(
            reserved_for=reservation.holder, reserved_until=_text(reservation.ends_at)
        )
    by_worker: defaultdict[int, list[DeviceRecord]] = defaultdict(list)
    for (worker, _), record in sorted(found.items()):
        by_worker[worker].append(record)
    return {worker: tuple(records) for worker, records in by_worker.items()}


def _tasks(of_which: Q) -> dict[int, tuple[TaskRecord, ...]]:
    # As text, because a large fleet holds tens of thousands of lists of devices, and few different ones.
    rows = (
        Task.objects.filter(of_which, released_at__isnull=True)
        .order_by("pk")
        .annotate(held=Cast("devices", TextField()))
        .values_list("worker_id", "attempt__job__job_id", "held", "cpu_millicores", "memory_bytes", "disk_bytes")
    )
    by_worker: defaultdict[int, list[TaskRecord]] = defaultdict(list)
    for worker, job_id, held, cpu_millicores, memory_bytes, disk_bytes in rows:
        by_worker[worker].append(TaskRecord(job_id, _indices(held), cpu_millicores, memory_bytes, disk_bytes))
    return {worker: tuple(tasks) for worker, tasks in by_worker.items()}


@lru_cache(maxsize=10_000)
def _indices(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
