"""The devices of a worker as its page shows them: who holds each, how busy it is, and what runs there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from scheduler.core.explain import size
from workers.devices import DeviceBox
from workers.models import Device, Worker
from workers.rows import WorkerRow

PROCESSES_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process on a device. `kind`: own (of the holder), stray (of another task here) or foreign."""

    pid: int
    user: str
    memory: str
    kind: str
    job_id: str = ""

    @property
    def words(self) -> str:
        """What is wrong with a stray."""
        return f"of {self.job_id}, which does not hold this device"


class DeviceRow:
    """One device with who holds it and how it does."""

    def __init__(
        self, box: DeviceBox, row: Device | None, tasks: Mapping[int, Any], unknown: Mapping[str, str],
        idle_since: datetime | None = None,
    ) -> None:  # fmt: skip
        self.box = box
        self.row = row
        self.task = next((task for task in tasks.values() if box.index in task.devices), None)
        self.idle_since = idle_since
        """Since when its holder has not used it; None where it does, or nobody holds it or knows."""
        self._tasks = tasks
        self._unknown = unknown

    @property
    def model(self) -> str:
        """Without the maker's name, which most share."""
        return (self.box.view.model or "").removeprefix("NVIDIA ") if self.box.view else ""

    @property
    def memory(self) -> str | None:
        """Its size, and how much of it is used where that is known."""
        size_bytes = self.box.view.memory_bytes if self.box.view else None
        if size_bytes is None:
            return None
        used = self.row.memory_used if self.row else None
        return size(size_bytes) if used is None else f"{size(used)} of {size(size_bytes)}"

    @property
    def doubt(self) -> str:
        """What is to be said of its health where it is not bad; mostly nothing."""
        if self.row is None or self.row.healthy is False or not self.row.health_note:
            return ""
        return self.row.health_note if self.row.healthy else f"health unknown: {self.row.health_note}"

    @property
    def why_memory(self) -> str:
        """Why its memory is unknown."""
        return self._why("memory")

    @property
    def why_model(self) -> str:
        """Why its model is unknown."""
        return self._why("model")

    @property
    def first_processes(self) -> Sequence[ProcessRow]:
        """The largest, and every one that should not be there."""
        return [each for place, each in enumerate(self._processes) if place < PROCESSES_AT_ONCE or each.kind == "stray"]

    @property
    def more_processes(self) -> Sequence[ProcessRow]:
        """The others."""
        return [each for each in self._processes if each not in self.first_processes]

    @cached_property
    def _processes(self) -> list[ProcessRow]:
        return [self._process(each) for each in (self.row.processes if self.row else ())]

    def _process(self, told: Mapping[str, Any]) -> ProcessRow:
        task = self._tasks.get(told.get("task") or 0)
        kind = "foreign" if task is None else "own" if self.box.index in task.devices else "stray"
        memory = told.get("memory")
        return ProcessRow(
            told["pid"], told.get("user") or "", "" if memory is None else size(memory), kind,
            task.job_id if task else "",
        )  # fmt: skip

    def _why(self, name: str) -> str:
        place = f"devices[{self.box.index}]"
        return self._unknown.get(f"{place}.{name}") or self._unknown.get(place) or ""


class Devices:
    """All devices of a worker, and which of the columns have something to say."""

    def __init__(self, row: WorkerRow, worker: Worker, tasks: Sequence[Any]) -> None:
        readings: dict[int, Device] = {}
        for device in worker.devices.order_by("index", "-present"):
            readings.setdefault(device.index, device)
        by_key = {task.key: task for task in tasks}
        held = worker.devices.filter(holds__released_at=None, holds__idle_since__isnull=False)
        idle = dict(held.values_list("index", "holds__idle_since"))
        self.rows = [
            DeviceRow(box, readings.get(box.index), by_key, worker.unknown, idle.get(box.index)) for box in row.boxes
        ]

    @property
    def are_mixed(self) -> bool:
        """They are not all of one known model."""
        return len({row.box.view.model for row in self.rows if row.box.view}) > 1 or any(
            row.box.view and not row.box.view.model for row in self.rows
        )

    @property
    def are_read(self) -> bool:
        """Somebody has read what runs on them and how busy they are."""
        return any(row.row and (row.row.read_at or row.row.utilisation is not None) for row in self.rows)

    @property
    def are_held(self) -> bool:
        """A task holds one of them."""
        return any(row.task or row.box.holder for row in self.rows)
