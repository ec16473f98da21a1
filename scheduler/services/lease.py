"""The right to run a pass: one row, taken by compare-and-set, with an epoch that grows whenever it changes hands."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event

from django.db import transaction
from django.db.models import F, Q

from scheduler.models import PassLease
from scheduler.nudge import PASS_LEASE

TERM = timedelta(seconds=15)
"""How long a holder that died keeps others waiting; one that lives renews it with every batch."""


class StalePassError(RuntimeError):
    """The lease has gone to another, or its holder is told to end: what this pass has planned is not written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease as it was taken."""

    holder: str
    epoch: int
    ending: Event = field(default_factory=Event, compare=False)
    """Set when its holder is told to end: the lease is not renewed any more."""


@transaction.atomic
def take(*, holder: str, now: datetime, ending: Event | None = None) -> Lease | None:
    """Take the lease if nobody holds it or its holder let it expire; None otherwise. Answers the nudges so far."""
    ending = ending or Event()
    if ending.is_set():
        return None
    PassLease.objects.get_or_create(name=PASS_LEASE)
    free = PassLease.objects.filter(Q(expires_at__isnull=True) | Q(expires_at__lte=now), name=PASS_LEASE)
    if not free.update(holder=holder, epoch=F("epoch") + 1, expires_at=now + TERM, wanted=False):
        return None
    return Lease(holder, PassLease.objects.values_list("epoch", flat=True).get(name=PASS_LEASE), ending)


def renew(lease: Lease, *, now: datetime) -> None:
    """Extend the lease, and keep it from being taken until the transaction ends. Raises `StalePassError`."""
    if lease.ending.is_set():
        raise StalePassError(f"{lease.holder} is told to end")
    ours = PassLease.objects.filter(name=PASS_LEASE, epoch=lease.epoch, holder=lease.holder)
    if not ours.update(expires_at=now + TERM):
        raise StalePassError(f"epoch {lease.epoch} of {lease.holder} is over")


def give_back(lease: Lease) -> bool:
    """Let the next one have it; True if a pass was asked for since this one began."""
    PassLease.objects.filter(name=PASS_LEASE, epoch=lease.epoch).update(holder="", expires_at=None)
    return PassLease.objects.filter(name=PASS_LEASE, wanted=True).exists()
