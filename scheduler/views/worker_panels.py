"""What a worker's page shows of jobs: who has its devices over the next day, and why those that wait are not here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler.models import Job, JobState
from scheduler.occupancy import TaskOn
from scheduler.services.not_here import not_here
from scheduler.services.reservation_rows import ReservationRow
from scheduler.views.gantt import Piece, Strip, picture, whole_hour
from scheduler.views.reservation_timeline import reservation_piece, reserved_between, task_piece
from workers.devices import devices_words
from workers.live import GOOD_FOR, live_fragment, respond
from workers.local_time import offset, said
from workers.models import Worker
from workers.moments import minute
from workers.queries import live_workers

HOURS = 24
AT_ONCE = 200
"""So many waiting jobs are looked at while the page is made."""
PIECE = "workers/_not_here.html"


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table beside the picture."""

    devices: str
    piece: Piece
    start: str
    until: str


def ahead(request: HttpRequest, worker: Worker, indices: Sequence[int], tasks: Sequence[TaskOn]) -> SafeString:
    """The next day of this worker, by its devices; nothing where nothing is to come."""
    now, zone = timezone.now(), timezone.get_current_timezone()
    start = whole_hour(now, zone)
    rows = reserved_between([worker], start, start + timedelta(hours=HOURS), request.user, now).get(worker.pk, [])
    strips = [
        Strip(label, [*(reservation_piece(row) for row in kept), *(task_piece(task, now) for task in held)])
        for label, held, kept in _alike(indices, tasks, rows)
    ]
    context = {
        "drawn": picture(strips, start=start, hours=HOURS, now=now, zone=zone),
        "lines": [*_of_reservations(rows, now, zone), *_of_tasks(tasks, now, zone)],
        "zone_offset": offset(now, zone),
    }  # fmt: skip
    return render_to_string("workers/_ahead.html", context, request)


def not_here_panel(request: HttpRequest, name: str) -> SafeString:
    """Why waiting jobs are not on this worker, as part of its page; of many that wait it comes by a second request."""
    waiting = Job.objects.filter(state=JobState.QUEUED).count()
    if waiting > AT_ONCE:
        return render_to_string("workers/_not_here_place.html", {"worker": name, "waiting": waiting}, request)
    return live_fragment(request, PIECE, _not_here(request, name))[0]


def not_here_page(request: HttpRequest, name: str) -> HttpResponse:
    """The same by itself; it keeps itself up to date."""
    get_object_or_404(live_workers(), name=name)
    context = {"nav": "workers", **_not_here(request, name)}
    return respond(request, page="workers/not_here.html", fragment=PIECE, context=context, good_for=GOOD_FOR)


def _not_here(request: HttpRequest, name: str) -> dict[str, object]:
    now = timezone.now()
    return {"worker": name, "found": not_here(name, user=request.user, clock=lambda at: minute(at, now=now))}


Alike = tuple[str, Sequence[TaskOn], Sequence[ReservationRow]]


def _alike(indices: Sequence[int], tasks: Sequence[TaskOn], rows: Sequence[ReservationRow]) -> Iterable[Alike]:
    """Devices that the same tasks and reservations have, under one label; what needs none has a lane of its own."""
    groups: dict[tuple[object, ...], list[int]] = {}
    of: Mapping[int, tuple[list[TaskOn], list[ReservationRow]]] = {
        index: (
            [task for task in tasks if index in task.devices],
            [row for row in rows if not row.reservation.devices or index in row.reservation.devices],
        )
        for index in indices
    }
    for index, (held, kept) in of.items():
        groups.setdefault((*(task.key for task in held), *(row.name for row in kept)), []).append(index)
    for alike in groups.values():
        yield devices_words(alike), *of[alike[0]]
    bare = [task for task in tasks if not task.devices]
    whole = [row for row in rows if not row.reservation.devices] if not indices else []
    if bare or not indices:
        yield "no device", bare, whole


def _of_reservations(rows: Iterable[ReservationRow], now: datetime, zone: tzinfo) -> Iterable[Line]:
    for row in rows:
        of = row.reservation
        end = said(of.ends_at, now=now, zone=zone) if of.ends_at else "no end"
        on = devices_words(of.devices) if of.devices else "all of it"
        yield Line(on, reservation_piece(row), said(of.starts_at, now=now, zone=zone), end)


def _of_tasks(tasks: Iterable[TaskOn], now: datetime, zone: tzinfo) -> Iterable[Line]:
    for task in tasks:
        end = f"{said(task.ends_by, now=now, zone=zone)} at the latest" if task.ends_by else task.free_at
        on = devices_words(task.devices) if task.devices else "no device"
        yield Line(on, task_piece(task, now), f"{task.state}, {said(task.since, now=now, zone=zone)}", end)
