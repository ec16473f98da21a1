"""The upcoming reservations of a worker document."""

from __future__ import annotations

from datetime import UTC, datetime

from scheduler.core.fleet import DEFAULT_NOTICE_SECONDS, Window
from scheduler.core.parsing_device import MOST_DEVICES, device_index, held_for
from scheduler.core.readers import instant, list_of, whole
from scheduler.core.reading import At, Section

MOST_WINDOWS = 1_000
LONGEST_NOTICE = 366 * 24 * 3600
_FIELDS = ("reserved_for", "starts_at", "ends_at", "devices", "notice_s")
_SOME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands where no start could be read, which is noted."""


def read_windows(value: object, at: At) -> tuple[Window, ...] | None:
    """A reader of upcoming reservations; the answer is sorted by their starts."""
    windows = list_of(_window, most=MOST_WINDOWS)(value, at)
    return None if windows is None else in_order(windows)


def in_order(windows: tuple[Window, ...]) -> tuple[Window, ...]:
    """By their starts, then by what they keep and for whom."""
    return tuple(sorted(windows, key=lambda window: (window.starts_at, window.devices, window.holder)))


def _window(value: object, at: At) -> Window:
    window = Section(value, at, _FIELDS)
    starts_at = window.require("starts_at", instant, "when it begins")
    ends_at = window.read("ends_at", instant)
    if starts_at is not None and ends_at is not None and ends_at <= starts_at:
        at.below("ends_at").note("an end that is not after the start", "a later instant, or leave it out")
    return Window(
        holder=window.require("reserved_for", held_for, "for whom it is") or "",
        starts_at=starts_at or _SOME,
        ends_at=ends_at,
        devices=tuple(sorted(window.read("devices", list_of(device_index, most=MOST_DEVICES, distinct=True)) or ())),
        notice_s=window.read_or("notice_s", whole(0, LONGEST_NOTICE), DEFAULT_NOTICE_SECONDS),
    )
