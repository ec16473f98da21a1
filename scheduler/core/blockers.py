"""What stands in the way of each worker that can run the job, and the earliest known time at which one comes free.

Instants come in as data: when a running task reaches its time limit at the latest, when a reservation ends. Nothing
is promised by them: a task may end sooner, and another job may be first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from scheduler.core.availability import Setting
from scheduler.core.decision import Verdict
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.gang import members
from scheduler.core.reasons import Code, Reason
from scheduler.core.scene import Scene
from scheduler.core.sentences import sentence
from scheduler.core.windows import view_at
from scheduler.core.words import Clock, in_utc

MOST_SHOWN = 12
MOST_LOOKED_AT = 1_000
MOST_TURNS = 1_000
"""Instants at which the workers of a gang may be free at once that are tried."""
Ends = Mapping[str, datetime | None]
"""By job id: when its running tasks reach their time limit; None where they have none. A job left out isn't known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One thing in the way."""

    code: Code
    text: str
    holders: tuple[str, ...]
    """Jobs, or whom it is reserved for."""
    devices: tuple[int, ...]
    until: datetime | None
    """When the last of it ends at the latest; None where that is not known of all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """One worker that can run the job and is not free."""

    worker: str
    obstacles: tuple[Obstacle, ...]
    free_at: datetime | None
    """The earliest known time at which nothing stands in the way any more; None where it isn't known, or was not
    looked for because enough others come free before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blockers:
    """The workers that come free first, then those with fewest obstacles."""

    workers: tuple[Blocked, ...]
    total: int
    """How many can run the job and are not free."""
    earliest: datetime | None
    """The earliest known time at which the job could start."""
    at: tuple[str, ...]
    """On which workers then."""
    ending: tuple[str, ...]
    """The jobs that reach their time limits by then on these workers."""
    complete: bool
    """Whether no worker was left out that might come free sooner."""


def blockers(scene: Scene, ends: Ends, *, clock: Clock = in_utc) -> Blockers:
    """What stands in the way of each worker that can run the job."""
    parts = sorted((len(codes), bits) for (verdict, codes), bits in scene.parts().items() if verdict is _NOT_NOW)
    views = [view for _, bits in parts for view in scene.views(bits)]
    times, complete = _times(scene, views, ends)
    start = _start(scene, times, ends)
    at, earliest = (start.at, start.when) if start else ((), None)
    first = dict.fromkeys((*sorted(times, key=lambda worker: (times[worker], worker)), *(view.id for view in views)))
    return Blockers(
        workers=tuple(_blocked(scene, worker, times, ends, clock) for worker in list(first)[:MOST_SHOWN]),
        total=len(views),
        earliest=earliest,
        at=at if earliest is not None else (),
        ending=tuple(sorted({job for worker in at for job in _ended_by(scene.view(worker), ends, earliest)})),
        complete=complete,
    )


_NOT_NOW = Verdict.UNAVAILABLE


def _times(scene: Scene, views: Sequence[WorkerView], ends: Ends) -> tuple[dict[str, datetime], bool]:
    """When workers come free, those first that may be first, until the job could start and enough are known to show."""
    gpus = scene.entry.spec.resources.gpus
    bounds = [(bound, view.id, view) for view in views if (bound := _not_before(view, ends, gpus)) is not None]
    times: dict[str, datetime] = {}
    for number, (bound, worker, view) in enumerate(sorted(bounds, key=lambda one: one[:2])):
        if number >= MOST_LOOKED_AT:
            return times, False
        if len(times) >= MOST_SHOWN and number % MOST_SHOWN == 0 and _starts_before(scene, times, ends, bound):
            break
        when = _free_at(scene, view, ends, bound)
        if when is not None:
            times[worker] = when
    return times, True


def _starts_before(scene: Scene, times: Mapping[str, datetime], ends: Ends, bound: datetime) -> bool:
    start = _start(scene, times, ends)
    return start is not None and (start.when is None or start.when <= bound)


def _not_before(view: WorkerView, ends: Ends, gpus: int) -> datetime | None:
    """No worker comes free before that: as many devices must be let go as are short. None where none of it ends."""
    instants = sorted(_instants(view, ends))
    held = sorted((end, len(task.devices)) for task in view.tasks if (end := ends.get(task.job_id)) is not None)
    short = gpus - len(view.facts.devices or ()) + sum(len(task.devices) for task in view.tasks)
    if short <= 0:
        return instants[0] if instants else None
    for end, devices in held:
        short -= devices
        if short <= 0:
            return end
    return None


def _instants(view: WorkerView, ends: Ends) -> Iterator[datetime]:
    """Every known instant at which something of this worker comes free, or is kept for somebody from then on."""
    held = [ends.get(task.job_id) for task in view.tasks]
    kept = [device.reserved_until for device in view.facts.devices or ()]
    ahead = view.facts.upcoming if view.at is not None else ()
    turns = [instant for window in ahead for instant in (window.starts_at, window.ends_at)]
    yield from (instant for instant in (*held, view.facts.reserved_until, *kept, *turns) if instant is not None)


def _free_at(scene: Scene, view: WorkerView, ends: Ends, bound: datetime) -> datetime | None:
    """The first of those instants at which it is free."""
    instants = sorted(set(_instants(view, ends)))
    return next((each for each in instants if each >= bound and _is_free(scene, view, ends, each)), None)


def _is_free(scene: Scene, view: WorkerView, ends: Ends, instant: datetime) -> bool:
    """By asking the checks of what is free about the worker as it will be then. It may be kept for good by then."""
    then = at_that_time(view, ends, instant)
    kept = compatibility_reasons(scene.entry, then, (Code.RESERVED,))
    return not kept and not availability_reasons(scene.entry, then, _setting(scene))


def _setting(scene: Scene) -> Setting:
    return Setting(closed=scene.standing.shape.closed, avoided=scene.standing.avoided)


def at_that_time(view: WorkerView, ends: Ends, instant: datetime) -> WorkerView:
    """The worker without the tasks and reservations that have ended by then, and with those that have begun."""

    def over(end: datetime | None) -> bool:
        return end is not None and end <= instant

    facts = view.facts
    devices = facts.devices and tuple(
        replace(device, reserved_for=None, reserved_until=None) if over(device.reserved_until) else device
        for device in facts.devices
    )
    facts = replace(facts, devices=devices)
    if over(facts.reserved_until):
        facts = replace(facts, reserved_for=None, reserved_until=None)
    view = replace(view, facts=facts, tasks=tuple(task for task in view.tasks if not over(ends.get(task.job_id))))
    return view_at(view, None if view.at is None else max(view.at, instant))


@dataclass(frozen=True, slots=True)
class _Start:
    at: tuple[str, ...]
    when: datetime | None
    """None: at once."""


def _start(scene: Scene, times: Mapping[str, datetime], ends: Ends) -> _Start | None:
    """The workers on which the job could start first, those that are free now among them; None where it is unknown."""
    starts = (_start_in(scene, group, times, ends) for group in _groups(scene, times))
    known = (start for start in starts if start is not None)
    return min(known, key=lambda start: [] if start.when is None else [start.when], default=None)


def _start_in(scene: Scene, group: Sequence[str], times: Mapping[str, datetime], ends: Ends) -> _Start | None:
    """The first instant at which enough of these are free at once: one that was may be kept for somebody by then."""
    needed = members(scene.entry.spec)
    if len(group) < needed:
        return None
    if group[needed - 1] not in times:
        return _Start(tuple(group[:needed]), None)
    for instant in islice(_turns(scene, group, times, ends, needed), MOST_TURNS):
        there = (worker for worker in group if times.get(worker, instant) <= instant)
        free = (worker for worker in there if _stays_free(scene, scene.view(worker), ends, instant))
        able = tuple(islice(free, needed))
        if len(able) == needed:
            return _Start(able, instant)
    return None


def _turns(
    scene: Scene, group: Sequence[str], times: Mapping[str, datetime], ends: Ends, needed: int
) -> Iterator[datetime]:
    """When enough may be free at once: as soon as so many have been, then whenever another comes free."""
    soonest = times[group[needed - 1]]
    yield soonest
    again = (_instants(scene.view(worker), ends) for worker in group)
    yield from sorted({each for instants in again for each in instants if each > soonest})


def _stays_free(scene: Scene, view: WorkerView, ends: Ends, instant: datetime) -> bool:
    """Whether one that came free by then is free then: only a reservation to come takes it away."""
    return view.at is None or not view.facts.upcoming or _is_free(scene, view, ends, instant)


def _end_of(group: Sequence[str], times: Mapping[str, datetime]) -> list[datetime]:
    """When the last of them comes free; nothing, which comes before any instant, where all are."""
    return [times[worker] for worker in group[-1:] if worker in times]


def _groups(scene: Scene, times: Mapping[str, datetime]) -> Iterator[list[str]]:
    """The workers that are or come free, by target and torch version: those that are free, then by their times."""
    shape = scene.standing.shape
    candidates = scene.standing.eligible | scene.ranked(times)
    for tier in scene.entry.spec.tiers:
        by_version: dict[str | None, list[str]] = {}
        here = scene.named(candidates & shape.in_tier(tier))
        for worker in sorted(here, key=lambda worker: _end_of([worker], times)):
            version = shape.torch[scene.census.rank_of[worker]] if shape.torch else None
            by_version.setdefault(version, []).append(worker)
        yield from by_version.values()


def _ended_by(view: WorkerView, ends: Ends, instant: datetime | None) -> Iterator[str]:
    for task in view.tasks:
        end = ends.get(task.job_id)
        if instant is not None and end is not None and end <= instant:
            yield task.job_id


def _blocked(scene: Scene, worker: str, times: Mapping[str, datetime], ends: Ends, clock: Clock) -> Blocked:
    reasons = availability_reasons(scene.entry, scene.view(worker), _setting(scene))
    return Blocked(
        worker=worker,
        obstacles=tuple(_obstacle(reason, ends, clock) for reason in reasons),
        free_at=times.get(worker),
    )


def _obstacle(reason: Reason, ends: Ends, clock: Clock) -> Obstacle:
    until = reason.until
    if reason.holders and until is None:
        known = [ends.get(holder) for holder in reason.holders]
        until = max((end for end in known if end is not None), default=None) if None not in known else None
    return Obstacle(
        code=reason.code, text=sentence(reason, clock=clock), holders=reason.holders, devices=reason.devices,
        until=until,
    )  # fmt: skip
