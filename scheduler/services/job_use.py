"""The devices that a task holds, as last read: how busy, how full, and since when they do nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scheduler.core.fleet import EnvironmentView, WorkerFacts
from scheduler.facts import facts_by_id
from scheduler.models import DeviceHold, Task
from workers.models import Device


@dataclass(frozen=True, slots=True)
class Use:
    """One device and its readings; None where they are not known."""

    device: Device
    memory: int | None
    """Bytes it has in all."""
    idle_since: datetime | None


def facts_of(task: Task) -> WorkerFacts | None:
    """What its worker is known to be; a query only where this process has not read it yet."""
    key = task.worker.facts_id
    return facts_by_id([key]).get(key) if key else None


def use_of(task: Task) -> tuple[Use, ...]:
    """Of what it holds now, by index: one query. Nothing once it has let go of them."""
    held = DeviceHold.objects.filter(task=task, released_at__isnull=True).select_related("device")
    facts = facts_of(task)
    sizes = {device.index: device.memory_bytes for device in (facts.devices if facts else None) or ()}
    return tuple(
        Use(hold.device, sizes.get(hold.device.index), hold.idle_since) for hold in held.order_by("device__index")
    )


def read_at(uses: tuple[Use, ...]) -> datetime | None:
    """When the last of them was read."""
    return max((use.device.read_at for use in uses if use.device.read_at), default=None)


def environment_on(task: Task, name: str) -> EnvironmentView | None:
    """The environment of this name on its worker."""
    facts = facts_of(task)
    return dict(facts.environments).get(name) if facts else None


def idle_since(uses: tuple[Use, ...]) -> datetime | None:
    """Since when none of them does anything; None while one does, or while nobody knows."""
    instants = [use.idle_since for use in uses]
    return max((at for at in instants if at), default=None) if instants and all(instants) else None
