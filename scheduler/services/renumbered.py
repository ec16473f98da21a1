"""Devices that got other indices: what is held and what is reserved stays with the device itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from copy import copy
from datetime import datetime

from django.utils import timezone

from scheduler.models import DeviceHold, Reservation, Task
from scheduler.services.reservations import announce, end_reservation, is_live

ACTOR = "scheduler"


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
    _follow_reservations(moves, timezone.now())


def _follow_reservations(moves: Mapping[int, Mapping[int, int]], now: datetime) -> None:
    """A reservation loses the devices whose indices others have taken: they are gone. One that loses all ends."""
    kept = []
    rows = Reservation.objects.filter(worker__in=moves, cancelled_at=None).exclude(devices=[])
    for reservation in rows.select_related("worker").order_by("pk"):
        own = moves[reservation.worker_id]
        taken = set(own.values())
        there = [index for index in reservation.devices if index in own or index not in taken]
        if there:
            former = copy(reservation)
            reservation.devices = sorted(own.get(index, index) for index in there)
            kept.append(reservation)
            if reservation.devices != former.devices and is_live(former, now):
                cause = "devices have other indices" if len(there) == len(former.devices) else "some devices are gone"
                announce("changed", reservation, actor=ACTOR, now=now, cause=cause, former=former)
        elif is_live(reservation, now):
            end_reservation(reservation=reservation, actor=ACTOR, now=now, cause="its devices are gone")
        else:
            rows.filter(pk=reservation.pk).update(cancelled_at=reservation.ends_at)
    # Two may change places: neither is in the other's way while both move.
    moving = Reservation.objects.filter(pk__in=[reservation.pk for reservation in kept])
    moving.update(cancelled_at=now)
    Reservation.objects.bulk_update(kept, ["devices"])
    moving.update(cancelled_at=None)
