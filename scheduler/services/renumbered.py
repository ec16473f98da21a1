"""Devices that got other indices: what is held and what is reserved stays with the device itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from scheduler.models import DeviceHold, Reservation, Task


def follow(moves: Mapping[int, Mapping[int, int]]) -> None:
    """Write the present indices (worker id -> former -> new) into everything that is not over yet.

    Called inside the transaction that moves the devices; whoever holds one, holds it afterwards.
    """
    held: defaultdict[int, list[int]] = defaultdict(list)
    holds = DeviceHold.objects.filter(worker__in=moves, released_at=None).order_by("device__index")
    for task_id, index in holds.values_list("task_id", "device__index"):
        held[task_id].append(index)
    tasks = list(Task.objects.filter(pk__in=held))
    for task in tasks:
        task.devices = held[task.pk]
    Task.objects.bulk_update(tasks, ["devices"])
    reservations = list(Reservation.objects.filter(worker__in=moves, cancelled_at=None).exclude(devices=[]))
    for reservation in reservations:
        new = moves[reservation.worker_id]
        reservation.devices = sorted(new.get(index, index) for index in reservation.devices)
    Reservation.objects.bulk_update(reservations, ["devices"])
