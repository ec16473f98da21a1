"""Two fleets for one question: the one that was recorded, and the same with a change made to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings

from scheduler.core.fleet import Fleet, Window, WorkerFacts, WorkerView
from scheduler.facts import facts_by_id
from scheduler.models import PassState, Reservation, SchedulingPass
from scheduler.services.rollups import left_by
from scheduler.snapshot import take_fleet
from workers.models import Label, LabelSource, Worker
from workers.proposed import Change
from workers.services.limits import LIMITS, applied

NOBODY = "job:"
"""Reserved for nobody and for good: by that a worker that takes nothing any more is no candidate of any job."""
MOST_NAMED = 1_000
"""Workers that are named in one statement."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fleet as somebody saw it, and when."""

    fleet: Fleet
    seen_at: datetime
    pass_number: int | None
    """None: no pass has seen any yet; it is the present one."""


def latest(waiting: set[str], now: datetime) -> Recorded:
    """What the latest complete pass saw, with what it gave to jobs that wait no more; else the fleet as it is now."""
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None:
        return Recorded(take_fleet(now=now).fleet(), now, None)
    return Recorded(left_by(row, waiting), row.confirmed_at, row.number)


def both(change: Change, fleet: Fleet) -> tuple[Fleet, Fleet]:
    """Before and after. Where the question is who still takes jobs, whoever drains already is nobody's candidate."""
    after = changed(change, fleet)
    if change.drain is None:
        return fleet, after
    return _without_the_draining(fleet), _without_the_draining(after)


def changed(change: Change, fleet: Fleet) -> Fleet:
    """The fleet after this change; of workers that nothing changes, the very same values."""
    asked = set(change.workers)
    facts = _Said.of(change)
    views = tuple(_view(change, view, facts) if view.id in asked else view for view in fleet.workers)
    if change.windows or change.ended:
        views = _kept(change, views)
    return Fleet(views)


@dataclass(frozen=True, slots=True)
class _Said:
    """What rows say beside the view: the agents' own labels and limits, which count again without an operator's."""

    labels: Mapping[tuple[str, str], str]
    facts: Mapping[str, WorkerFacts]

    @classmethod
    def of(cls, change: Change) -> _Said:
        labels: dict[tuple[str, str], str] = {}
        facts: dict[str, WorkerFacts] = {}
        for some in _in_parts(change.workers):
            if change.unlabels:
                agents = Label.objects.filter(
                    worker__name__in=some, key__in=change.unlabels, source=LabelSource.AGENT
                )  # fmt: skip
                labels |= {
                    (name, key): value for name, key, value in agents.values_list("worker__name", "key", "value")
                }
            if None in change.limits.values():
                facts |= _agents_facts(some)
        return cls(labels, facts)


def _agents_facts(names: tuple[str, ...]) -> dict[str, WorkerFacts]:
    rows = dict(Worker.objects.filter(name__in=names, facts__isnull=False).values_list("name", "facts_id"))
    known = facts_by_id(rows.values())
    return {name: known[key] for name, key in rows.items() if key in known}


def _view(change: Change, view: WorkerView, said: _Said) -> WorkerView:
    facts = view.facts
    if change.labels or change.unlabels:
        facts = replace(facts, labels=_labels(change, facts, said))
    if change.limits:
        own = applied({}, change.limits)
        agents = said.facts.get(view.id)
        back = {name: getattr(agents, name, None) for name in LIMITS if name in change.limits}
        facts = replace(facts, **{**back, **own})  # type: ignore[arg-type]
    if change.retire:
        facts = replace(facts, reserved_for=NOBODY, reserved_until=None)
    if change.drain is not None:
        view = replace(view, draining=change.drain)
    return view if facts == view.facts else replace(view, facts=facts)


def _labels(change: Change, facts: WorkerFacts, said: _Said) -> tuple[tuple[str, str], ...]:
    labels = {key: value for key, value in facts.labels if key not in change.unlabels}
    labels |= {key: said.labels[facts.id, key] for key in change.unlabels if (facts.id, key) in said.labels}
    return tuple(sorted({**labels, **change.labels}.items()))


def _without_the_draining(fleet: Fleet) -> Fleet:
    return Fleet(tuple(_masked(view) if view.draining else view for view in fleet.workers))


def _masked(view: WorkerView) -> WorkerView:
    return replace(view, facts=replace(view.facts, reserved_for=NOBODY, reserved_until=None))


def _kept(change: Change, views: Iterable[WorkerView]) -> tuple[WorkerView, ...]:
    """With the reservations that are to be made, and without those that are to end. One query."""
    ending: defaultdict[str, list[Reservation]] = defaultdict(list)
    for row in Reservation.objects.filter(pk__in=change.ended).select_related("worker") if change.ended else ():
        ending[row.worker.name].append(row)
    coming: defaultdict[str, list[Window]] = defaultdict(list)
    notice = round(settings.GPULAYER_RESERVATION_NOTICE_SECONDS)
    for name, window in change.windows:
        coming[name].append(replace(window, notice_s=notice))
    changed = ending.keys() | coming.keys()
    return tuple(
        _with(_without(view, ending[view.id]), coming[view.id]) if view.id in changed else view for view in views
    )


def _without(view: WorkerView, ending: Iterable[Reservation]) -> WorkerView:
    for row in ending:
        view = _given_back(view, row)
    return view


def _with(view: WorkerView, new: Sequence[Window]) -> WorkerView:
    if not new:
        return view
    upcoming = tuple(sorted((*view.facts.upcoming, *new), key=lambda window: window.starts_at))
    return replace(view, facts=replace(view.facts, upcoming=upcoming))


def _given_back(view: WorkerView, row: Reservation) -> WorkerView:
    facts, devices = view.facts, view.facts.devices
    if not row.devices and facts.reserved_for == row.holder:
        facts = replace(facts, reserved_for=None, reserved_until=None)
    if row.devices and devices:
        devices = tuple(
            replace(device, reserved_for=None, reserved_until=None)
            if device.index in row.devices and device.reserved_for == row.holder
            else device
            for device in devices
        )
    ahead = tuple(
        window
        for window in facts.upcoming
        if (window.holder, window.starts_at, window.devices) != (row.holder, row.starts_at, tuple(row.devices))
    )
    return replace(view, facts=replace(facts, devices=devices, upcoming=ahead))


def _in_parts(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [names[start : start + MOST_NAMED] for start in range(0, len(names), MOST_NAMED)]
