"""Announcing that something about a worker changed that can alter a decision.

A pass re-reads the versions of the workers it chose before it commits; whoever changes a worker's facts, labels,
reservations, intent, health or liveness therefore bumps its version in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import F
from django.dispatch import Signal

from workers.models import Worker

fleet_changed = Signal()
"""Sent after every bump. A doorbell: whoever misses it finds the change at the next pass anyway."""
devices_moved = Signal()
"""Sent inside the transaction in which devices get other indices: `moves` is worker id -> former index -> new one."""


def bump(worker_ids: Iterable[int]) -> None:
    """Raise the version of these workers by one. Call it inside the transaction that makes the change."""
    ids = sorted(set(worker_ids))
    if ids:
        Worker.objects.filter(pk__in=ids).update(version=F("version") + 1)
        fleet_changed.send(sender=Worker)
