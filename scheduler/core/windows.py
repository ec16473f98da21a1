"""Reservations that have yet to begin: seen from one instant, and who may use the time before them.

A job may start before a reservation for somebody else if it is over when that begins: its time limit, counted from
now, must end by then. A job without a limit may start until so many seconds before it as the reservation gives notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from scheduler.core.fleet import DeviceView, Window, WorkerFacts, WorkerView


def seen_at(workers: Iterable[WorkerView], at: datetime | None = None) -> list[WorkerView]:
    """The workers at one instant, in their order: what has begun by then is in force, and what has ended is gone.

    Without an instant it is the latest that any of them states; where none does, nothing is looked ahead to.
    """
    views = list(workers)
    ahead = [place for place, view in enumerate(views) if view.facts.upcoming]
    if not ahead:
        return views
    told = [view.at for place in ahead if (view := views[place]).at is not None]
    at = at or max((instant for instant in told if instant is not None), default=None)
    for place in ahead:
        views[place] = view_at(views[place], at)
    return views


def gap_before(window: Window, at: datetime) -> int:
    """The whole seconds from this instant to the window's start; 0 where it has begun."""
    return max(0, (window.starts_at - at) // timedelta(seconds=1))


def reaches_into(limit_s: int | None, window: Window, at: datetime) -> bool:
    """Whether what starts now may still run when the window begins; without a limit: whether notice has been given."""
    gap = window.starts_at - at
    return gap <= timedelta(seconds=window.notice_s) if limit_s is None else timedelta(seconds=limit_s) > gap


def turns_with_time(limits: Iterable[int | None], windows: Iterable[Window], then: datetime, now: datetime) -> bool:
    """Whether between the two instants a limit stops to fit before a window, or notice was given of one."""
    each = tuple(windows)
    return any(
        reaches_into(limit, window, then) != reaches_into(limit, window, now)
        for limit in set(limits)
        for window in each
    )


def any_in_the_way(limits: Iterable[int | None], windows: Iterable[Window], at: datetime) -> bool:
    """Whether some job may still run when some window begins, so that the time left is part of what it is told."""
    each = tuple(windows)
    return any(reaches_into(limit, window, at) for limit in set(limits) for window in each)


def view_at(view: WorkerView, at: datetime | None) -> WorkerView:
    """One worker at an instant; None: without looking ahead."""
    upcoming = view.facts.upcoming
    if at is None or (upcoming and all(window.starts_at > at for window in upcoming)):
        return view if view.at == at else replace(view, at=at)
    if not upcoming:
        return view
    facts = _begun(view.facts, at)
    return replace(view, facts=facts, at=at if facts.upcoming else None)


def _begun(facts: WorkerFacts, at: datetime) -> WorkerFacts:
    """What has begun keeps the worker or its devices; what they are kept for already goes before."""
    begun = [window for window in facts.upcoming if window.starts_at <= at and not _is_over(window, at)]
    whole = next((window for window in begun if not window.devices), None)
    facts = replace(
        facts,
        upcoming=tuple(window for window in facts.upcoming if window.starts_at > at),
        devices=facts.devices and tuple(_device_begun(device, begun) for device in facts.devices),
    )
    if whole is None or facts.reserved_for is not None:
        return facts
    return replace(facts, reserved_for=whole.holder, reserved_until=whole.ends_at)


def _device_begun(device: DeviceView, begun: Iterable[Window]) -> DeviceView:
    window = next((window for window in begun if device.index in window.devices), None)
    if window is None or device.reserved_for is not None:
        return device
    return replace(device, reserved_for=window.holder, reserved_until=window.ends_at)


def _is_over(window: Window, at: datetime) -> bool:
    return window.ends_at is not None and window.ends_at <= at
