"""What the worker pages ask the database."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from workers.models import Device, Intent, Label, Liveness, Worker
from workers.models.worker import LIVE, Health

STATES: Mapping[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "online": ("Online", Q(liveness=Liveness.ONLINE, intent=Intent.ACTIVE, health=Health.OK)),
    "draining": ("Draining", Q(intent__in=(Intent.DRAINING, Intent.DRAINED))),
    "offline": ("Offline", Q(liveness__in=(Liveness.SUSPECT, Liveness.LOST))),
    "unhealthy": ("Unhealthy", Q(health=Health.UNHEALTHY)),
    "new": ("Never seen", Q(liveness=Liveness.ENROLLED)),
    "simulated": ("Simulated", Q(simulated=True)),
}
"""Key -> heading and condition, in the order of the tabs."""


def live_workers() -> QuerySet[Worker]:
    """Every worker that is neither revoked nor retired."""
    return Worker.objects.filter(LIVE)


def state_counts() -> Mapping[str, int]:
    """How many live workers are in each state. One query."""
    counted = {key: Count("pk", filter=condition) for key, (_, condition) in STATES.items() if condition}
    return live_workers().aggregate(all=Count("pk"), **counted)


def found_workers(*, state: str, q: str, tier: str) -> QuerySet[Worker]:
    """The live workers of a state and an origin whose name, GPU model or label contains `q`."""
    workers = live_workers().filter(STATES.get(state, STATES["all"])[1])
    if tier:
        workers = workers.filter(origin=tier)
    if q:
        key, equals, value = q.partition("=")
        label = Q(key=key, value__icontains=value) if equals else Q(key__icontains=q) | Q(value__icontains=q)
        devices = Device.objects.filter(worker=OuterRef("pk"), model__icontains=q)
        labels = Label.objects.filter(label, worker=OuterRef("pk"))
        workers = workers.filter(Q(name__icontains=q) | Exists(devices) | Exists(labels))
    return workers
