"""What the worker pages ask the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Concat, LPad, Now

from scheduler.core.fleet import DEFAULT_FOREIGN_ALLOWANCE_BYTES
from workers.models import Device, Intent, Label, Liveness, Worker
from workers.models.worker import LIVE, Health

_KEPT = Q(reservations__cancelled_at=None, reservations__starts_at__lte=Now()) & (
    Q(reservations__ends_at=None) | Q(reservations__ends_at__gt=Now())
)
"""Somebody has a reservation in force there."""
_RESERVED = Q(pk__in=Worker.objects.filter(_KEPT).values("pk"))
_BAD_DEVICES = Q(pk__in=Device.objects.filter(present=True, healthy=False).values("worker"))

STATES: Mapping[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "online": ("Online", Q(liveness=Liveness.ONLINE, intent=Intent.ACTIVE, health=Health.OK)),
    "reserved": ("Reserved", _RESERVED),
    "draining": ("Draining", Q(intent__in=(Intent.DRAINING, Intent.DRAINED))),
    "offline": ("Offline", Q(liveness__in=(Liveness.SUSPECT, Liveness.LOST))),
    "unhealthy": ("Unhealthy", Q(health=Health.UNHEALTHY)),
    "devices": ("Unhealthy devices", _BAD_DEVICES),
    "unknown": ("Unknown values", ~Q(unknown={})),
    "new": ("Never seen", Q(liveness=Liveness.ENROLLED)),
    "simulated": ("Simulated", Q(simulated=True)),
}
"""Key -> heading and condition, in the order of the tabs."""
FREE = {"1": "≥ 1 free", "2": "≥ 2 free", "4": "≥ 4 free", "8": "≥ 8 free"}
"""How many devices are to be free -> heading."""
SORTS = {"name": "By name", "free": "Most free first", "newest": "Newest first"}
MOST_NAMED = 5_000
"""Databases bound the length of a list."""
FIGURES = 5
"""Of the largest number of devices that a place in the order has room for."""


def live_workers() -> QuerySet[Worker]:
    """Every worker that is neither revoked nor retired."""
    return Worker.objects.filter(LIVE)


def state_counts() -> Mapping[str, int]:
    """How many live workers are in each state. One query."""
    counted = {key: Count("pk", filter=condition) for key, (_, condition) in STATES.items() if condition}
    return live_workers().aggregate(all=Count("pk"), **counted)


def found_workers(*, state: str, q: str, tier: str, free: str = "", jobs_too: bool = False) -> QuerySet[Worker]:
    """The live workers of a state and an origin whose name, GPU model or label contains `q`.

    `free`: that have so many devices which could be given out. `jobs_too`: `q` may be the id of a job that runs there.
    """
    workers = live_workers().filter(STATES.get(state, STATES["all"])[1])
    if tier:
        workers = workers.filter(origin=tier)
    if q:
        workers = workers.filter(_words(q, jobs_too=jobs_too))
    return with_free(workers).filter(free_now__gte=int(free)) if free in FREE else workers


def _words(q: str, *, jobs_too: bool) -> Q:
    """Looked for once, as long as not too many are found: the list asks for its rows, and for their number."""
    key, equals, value = q.partition("=")
    label = Q(key=key, value__icontains=value) if equals else Q(key__icontains=q) | Q(value__icontains=q)
    found = Q(name__icontains=q) | Q(pk__in=Label.objects.filter(label).values("worker"))
    if models := _models_with(q):
        found |= Q(pk__in=Device.objects.filter(model__in=models).values("worker"))
    if jobs_too:
        found |= Q(pk__in=Worker.objects.filter(tasks__released_at=None, tasks__attempt__job__job_id=q).values("pk"))
    keys = list(live_workers().filter(found).order_by().values_list("pk", flat=True)[: MOST_NAMED + 1])
    return Q(pk__in=keys) if len(keys) <= MOST_NAMED else found


def _models_with(q: str) -> list[str]:
    """A fleet has few models and many devices: the text is looked for in each model once."""
    models = Device.objects.order_by().exclude(model=None).values_list("model", flat=True).distinct()
    return [model for model in models if q.casefold() in model.casefold()][:MOST_NAMED]


def with_free(workers: QuerySet[Worker]) -> QuerySet[Any]:
    """The same with `free_now`: how many devices could be given out, as `workers.devices` draws them. Two queries more.

    What an operator allows of use from outside on single workers is not looked at: the usual allowance is.
    """
    held = Device.objects.filter(holds__isnull=False, holds__released_at=None).values("pk")
    usable = (
        Device.objects.filter(worker=OuterRef("pk"), present=True)
        .exclude(healthy=False)
        .exclude(foreign_memory__gt=DEFAULT_FOREIGN_ALLOWANCE_BYTES)
        .exclude(pk__in=held)
        .exclude(pk__in=_reserved_devices())
    )
    number = usable.order_by().values("worker").annotate(number=Count("pk")).values("number")
    takes_jobs = STATES["online"][1] & ~Q(pk__in=Worker.objects.filter(_KEPT, reservations__devices=[]).values("pk"))
    counted = Coalesce(Subquery(number, output_field=IntegerField()), 0)
    return workers.annotate(free_now=Case(When(takes_jobs, then=counted), default=0))


def in_order(workers: QuerySet[Worker], sort: str) -> tuple[QuerySet[Worker], dict[str, Any]]:
    """The workers and by which unique field they are listed: the arguments of `workers.paging.by_key`."""
    if sort == "newest":
        return workers, {"field": "pk", "number": True, "descending": True}
    if sort != "free":
        return workers, {"field": "name"}
    if "free_now" not in workers.query.annotations:
        workers = with_free(workers)
    fewest = Cast(Value(10**FIGURES - 1) - F("free_now"), CharField())
    return workers.annotate(place=Concat(LPad(fewest, FIGURES, Value("0")), Value(" "), F("name"))), {"field": "place"}


def _reserved_devices() -> list[int]:
    """The keys of single devices that are reserved now."""
    kept = Worker.objects.filter(_KEPT).exclude(reservations__devices=[])
    pairs = {(pk, index) for pk, devices in kept.values_list("pk", "reservations__devices") for index in devices}
    rows = Device.objects.filter(worker__in={pk for pk, _ in pairs}).values_list("pk", "worker_id", "index")
    return [pk for pk, worker, index in rows if (worker, index) in pairs]
