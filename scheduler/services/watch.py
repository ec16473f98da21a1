"""The server's own watch: was it away, and was its wall clock set? Nobody is blamed for either.

Instants are compared on the wall clock of one server. When that is set, everything it is compared with is moved along;
when nobody could be heard for a while, everybody gets the time to call before anybody is declared lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from scheduler.models import Attempt, Event, Job, PassLease, Task, Watch
from scheduler.models.attempts import TASK_UNFINISHED
from workers.models import Worker
from workers.moments import duration

log = logging.getLogger(__name__)

STEP = timedelta(seconds=2)
"""A smaller difference between the clocks is their own inaccuracy."""
AWAY_AFTER = 1.5
"""So many times the usual pause without a look, and the server was away."""
SHORTEST_AWAY_SECONDS = 1.0
_AT_ONCE_MS = 50


@dataclass(frozen=True, slots=True)
class Clocks:
    """One instant on both clocks of this machine. Wall-clock steps do not move `boottime_ms`."""

    now: datetime
    boottime_ms: int
    boot_id: str


def read_clocks() -> Clocks:
    """Both clocks, read so close together that their difference means something."""
    while True:
        before = _boottime_ms()
        now = timezone.now()
        after = _boottime_ms()
        if after - before <= _AT_ONCE_MS:
            return Clocks(now, after, _boot_id())


@transaction.atomic
def look(clocks: Callable[[], Clocks] = read_clocks) -> Watch:
    """Compare the clocks with those of the last look, and note an absence or a step. Two at once count as one."""
    row = Watch.objects.select_for_update().filter(pk=1).first()
    seen = clocks()
    if row is None:
        return _first(seen)
    same = row.boot_id == seen.boot_id
    if same and seen.boottime_ms < row.boottime_ms:
        return row
    wall = seen.now - row.wall_at
    passed = timedelta(milliseconds=seen.boottime_ms - row.boottime_ms) if same else wall
    if abs(wall - passed) >= STEP:
        _stepped(row, wall - passed, seen.now)
    if passed > timedelta(seconds=away_seconds()) or passed < -STEP:
        _was_away(row, passed, seen.now)
    row.wall_at, row.boottime_ms, row.boot_id = seen.now, seen.boottime_ms, seen.boot_id
    row.save()
    return row


def give_grace(note: str, *, now: datetime) -> None:
    """Declare nobody lost until everybody has had the time to call. Says so the first time."""
    row = Watch.objects.select_for_update().filter(pk=1).first()
    if row is None:
        return
    is_new = row.grace_until is None or row.grace_until <= now
    _grace(row, note, now, say=is_new)
    row.save(update_fields=["grace_until", "note", "noted_at"])


def is_grace(now: datetime) -> bool:
    """Whether nobody may be declared silent or lost at this instant."""
    return Watch.objects.filter(pk=1, grace_until__gt=now).exists()


def away_seconds() -> float:
    """A pause between looks that is longer than this is an absence."""
    usual = max(settings.GPULAYER_WATCH_SECONDS, settings.RUN_PASS_EVERY_SECONDS)
    return max(SHORTEST_AWAY_SECONDS, float(AWAY_AFTER * usual))


def grace_seconds() -> float:
    """How long it takes until everybody who is there has called."""
    return float((settings.HEARTBEATS_MISSED + 1) * settings.GPULAYER_HEARTBEAT_SECONDS)


def _first(seen: Clocks) -> Watch:
    row, _ = Watch.objects.get_or_create(
        pk=1,
        defaults={
            "wall_at": seen.now,
            "boottime_ms": seen.boottime_ms,
            "boot_id": seen.boot_id,
            "up_since": seen.now,
            "grace_until": seen.now + timedelta(seconds=grace_seconds()),
        },
    )
    return row


def _was_away(row: Watch, passed: timedelta, now: datetime) -> None:
    row.up_since = now
    _grace(row, f"the server was away for {duration(max(passed, timedelta()).total_seconds())}", now, say=True)


def _stepped(row: Watch, step: timedelta, now: datetime) -> None:
    for rows, name in _compared():
        rows.filter(**{f"{name}__isnull": False}).update(**{name: F(name) + step})
    direction = "forward" if step > timedelta() else "back"
    note = f"the server's clock was set {direction} by {duration(abs(step.total_seconds()))}; leases were moved along"
    _grace(row, note, now, say=True)


def _compared() -> tuple[tuple[Any, str], ...]:
    """Every instant that is compared with the present one to decide whether something is over."""
    unfinished = Task.objects.filter(state__in=TASK_UNFINISHED)
    return (
        (Worker.objects.all(), "last_seen_at"),
        (Attempt.objects.filter(tasks__released_at=None), "leased_until"),
        (Attempt.objects.filter(active=True), "created_at"),
        (unfinished, "claimed_at"),
        (unfinished, "started_at"),
        (unfinished, "state_since"),
        (Job.objects.filter(finished_at=None), "hold_until"),
        (PassLease.objects.all(), "expires_at"),
    )


def _grace(row: Watch, note: str, now: datetime, *, say: bool) -> None:
    row.grace_until = now + timedelta(seconds=grace_seconds())
    if say:
        row.note, row.noted_at = note, now
        log.warning("%s: nobody is declared lost before %s", note, row.grace_until.isoformat(timespec="seconds"))
        Event.objects.create(
            at=now, actor="scheduler", subject_kind="server", subject="server", verb="watch", after="grace",
            cause=note[:200], detail={"grace_until": row.grace_until.isoformat()},
        )  # fmt: skip


def _boottime_ms() -> int:
    """Since the machine was started, sleep included; where there is no such clock, the nearest to it."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
