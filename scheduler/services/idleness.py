"""Devices that are held and hardly used: since when, as far as readings tell."""

from __future__ import annotations

from datetime import datetime, timedelta

from scheduler.models import DeviceHold

IDLE_BELOW = 10
"""Per cent; a device that is less busy than this does nothing for who holds it."""
STALE = timedelta(minutes=5)
"""A reading that is older says nothing."""
WORTH_TELLING = timedelta(minutes=30)


def note_idle(now: datetime) -> None:
    """Remember since when held devices are idle; forget it where they are busy again, or not read. Two queries."""
    held = DeviceHold.objects.filter(released_at__isnull=True)
    read = {"device__utilisation__lt": IDLE_BELOW, "device__read_at__gte": now - STALE}
    held.filter(idle_since__isnull=True, **read).update(idle_since=now)
    held.filter(idle_since__isnull=False).exclude(**read).update(idle_since=None)
