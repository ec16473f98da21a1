"""The whole fleet as the overview draws it, kept in memory until something happens to it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from threading import Lock, Thread
from time import monotonic

from django.db import connection
from django.db.models import Max
from django.utils import timezone

from scheduler.core.fleet import WorkerView
from scheduler.memory import remembered
from scheduler.models import DeviceHold, Event
from scheduler.services.idleness import IDLE_BELOW
from scheduler.snapshot import take_fleet
from workers.devices import device_boxes

LOOKS = ("free", "use", "rsv", "frn", "bad", "off")
"""As `workers.devices` calls them, in the order in which they are drawn."""
OLDEST_SECONDS = 10.0
"""What makes no event, such as a reading, shows up after so long."""
SHARE = 5
"""Looking anew takes at most a fifth of one processor."""
SLOW_SECONDS = 0.15
"""Where looking anew takes longer, nobody waits for it: the fleet of a moment ago is shown, and its age."""


@dataclass(frozen=True)
class Drawn:
    """One worker, and how each of its devices looks."""

    view: WorkerView
    looks: Mapping[str, int]
    """How many devices have each look."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.view.id

    @property
    def tier(self) -> str:
        """Its origin."""
        return str(self.view.facts.origin)

    @cached_property
    def models(self) -> str:
        """The models of its GPUs, without how many and without the maker that most share."""
        devices = self.view.facts.devices
        if devices is None:
            return "GPUs unknown"
        names = dict.fromkeys((device.model or "unknown model").removeprefix("NVIDIA ") for device in devices)
        return " + ".join(names) or "No GPU"

    @cached_property
    def memory(self) -> int:
        """The most memory that one of its devices has."""
        return max((device.memory_bytes or 0 for device in self.view.facts.devices or ()), default=0)

    @property
    def devices(self) -> int:
        """How many devices it has."""
        return sum(self.looks.values())


@dataclass(frozen=True, slots=True)
class Idle:
    """One held device that does nothing."""

    job_id: str
    name: str
    owner: str
    worker: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Picture:
    """The fleet at one instant."""

    at: datetime
    number: int
    """Another one for every picture that this process made."""
    event: int
    """The newest event that it knows of."""
    workers: tuple[Drawn, ...]
    busy: Mapping[str, int]
    """Held devices by how busy they are: `high`, `some`, `low`, `unknown`."""
    idle: tuple[Idle, ...]
    """Held devices that are idle, the longest first."""


@dataclass(frozen=True, slots=True)
class _Kept:
    picture: Picture
    made: float
    cost: float


_kept: OrderedDict[str, _Kept] = remembered(OrderedDict())
_drawn: dict[str, Drawn] = remembered({})
_one_at_a_time = Lock()
_numbers = [0]


def newest_event() -> int:
    """By which one sees whether anything has happened. One query."""
    return Event.objects.aggregate(newest=Max("pk"))["newest"] or 0


def picture_now(newest: int) -> Picture:
    """The fleet as it is, or was a moment ago. `newest` is the newest event. No query while nothing happens."""
    kept = _kept.get("fleet")
    age = monotonic() - kept.made if kept else 0.0
    if kept and _is_good(kept, newest, age):
        return kept.picture
    if kept and kept.cost > SLOW_SECONDS and age < 3 * OLDEST_SECONDS:
        if not _one_at_a_time.locked():
            Thread(target=_renew_apart, args=(newest,), daemon=True).start()
        return kept.picture
    return _renew(newest)


def _is_good(kept: _Kept, newest: int, age: float) -> bool:
    return age < SHARE * kept.cost or (age < OLDEST_SECONDS and kept.picture.event == newest)


def _renew_apart(newest: int) -> None:
    try:
        _renew(newest)
    finally:
        connection.close()


def _renew(newest: int) -> Picture:
    with _one_at_a_time:
        kept = _kept.get("fleet")
        if kept and _is_good(kept, newest, monotonic() - kept.made):
            return kept.picture
        began = monotonic()
        picture = _taken(newest)
        _kept["fleet"] = _Kept(picture, monotonic(), monotonic() - began)
        return picture


def _taken(newest: int) -> Picture:
    now = timezone.now()
    fleet = take_fleet(now=now).fleet()
    workers = tuple(_drawn_of(view) for view in fleet.workers)
    if len(_drawn) > 2 * len(workers):
        _drawn.clear()
    _numbers[0] += 1
    return Picture(now, _numbers[0], newest, workers, _busy(), _idle())


def _drawn_of(view: WorkerView) -> Drawn:
    """A view that nothing has happened to is the very same value as before."""
    former = _drawn.get(view.id)
    if former is None or former.view is not view:
        former = _drawn[view.id] = Drawn(view, Counter(box.look for box in device_boxes(view)))
    return former


def _busy() -> Mapping[str, int]:
    held = DeviceHold.objects.filter(released_at__isnull=True).values_list("device__utilisation", flat=True)
    return Counter(map(_band, held))


def _band(utilisation: int | None) -> str:
    if utilisation is None:
        return "unknown"
    return "high" if utilisation > 50 else "some" if utilisation >= IDLE_BELOW else "low"


def _idle() -> tuple[Idle, ...]:
    rows = DeviceHold.objects.filter(released_at__isnull=True, idle_since__isnull=False).order_by("idle_since", "pk")
    fields = ("task__attempt__job__job_id", "task__attempt__job__name", "task__attempt__job__owner__username")
    return tuple(Idle(*row) for row in rows.values_list(*fields, "worker__name", "idle_since"))
