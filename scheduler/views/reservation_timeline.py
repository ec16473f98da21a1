"""Reservations and running tasks over time, one lane for each worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.db.models import Q
from django.urls import reverse

from scheduler.models import Reservation
from scheduler.occupancy import TaskOn
from scheduler.services.reservation_rows import ReservationRow, rows_for
from scheduler.services.seen_fleet import tasks_on_each
from scheduler.views.gantt import Picture, Piece, Strip, in_utc, picture, whole_hour
from workers.devices import devices_words
from workers.local_time import read_local
from workers.models import Worker

RANGES: Mapping[str, tuple[str, int]] = {"day": ("24 h", 24), "week": ("7 days", 7 * 24), "month": ("30 days", 30 * 24)}
"""By the word in the address: the tab's text and the hours."""
MOST_BARS = 1_000


def timeline(
    workers: Sequence[Worker], *, start: datetime, word: str, now: datetime, zone: tzinfo, user: Any
) -> Picture:
    """What is reserved on these workers, and until when at the latest what runs there holds it."""
    hours = RANGES[word][1]
    reserved = reserved_between(workers, start, start + timedelta(hours=hours), user, now)
    tasks = tasks_on_each([worker.pk for worker in workers], user)
    strips = (
        Strip(
            worker.name,
            [
                *(reservation_piece(row) for row in reserved.get(worker.pk, ())),
                *(task_piece(task, now) for task in tasks.get(worker.pk, ())),
            ],
            reverse("worker", args=[worker.name]),
        )
        for worker in workers
    )
    return picture(strips, start=start, hours=hours, now=now, zone=zone)


def first_instant(asked: str, now: datetime, zone: tzinfo) -> datetime:
    """Where the picture begins: at what the address says, else at this hour."""
    try:
        return read_local(asked, UTC, which=0) if asked else whole_hour(now, zone)
    except ValueError:
        return whole_hour(now, zone)


def reserved_between(
    workers: Iterable[Worker], start: datetime, end: datetime, user: Any, now: datetime
) -> Mapping[int, list[ReservationRow]]:
    """The reservations of these workers that reach into that time, by the worker's key. Six queries."""
    not_over = Q(ends_at__isnull=True) | Q(ends_at__gt=start)
    found = Reservation.objects.filter(
        not_over, worker__in=[worker.pk for worker in workers], cancelled_at__isnull=True, starts_at__lt=end
    )
    by_worker: defaultdict[int, list[ReservationRow]] = defaultdict(list)
    some = list(found.select_related("worker").order_by("starts_at", "pk")[:MOST_BARS])
    for row in rows_for(user, some, now):
        by_worker[row.reservation.worker_id].append(row)
    return by_worker


def reservation_piece(row: ReservationRow) -> Piece:
    """One reservation."""
    of = row.reservation
    text = f"{row.name} for {row.kind_word} {row.holder}"
    until = f"until {in_utc(of.ends_at)}" if of.ends_at else "without an end"
    on = f" on {devices_words(of.devices)}" if of.devices else ""
    title = f"{text}{on}, from {in_utc(of.starts_at)} {until}"
    return Piece(of.starts_at, of.ends_at, "rs", text, title, f"{reverse('reservations')}?q={row.name}")


def task_piece(task: TaskOn, now: datetime) -> Piece:
    """One task, from now to its time limit; whose limit is not told, or has none, goes on."""
    limit = f"until {in_utc(task.ends_by)} at the latest" if task.ends_by else "without a time limit"
    title = f"{task.text}, {'how long is not told' if task.hidden else limit}"
    link = "" if task.hidden else reverse("job", args=[task.job_id])
    return Piece(now, task.ends_by, "job", task.text, title, link)
