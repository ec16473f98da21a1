"""The page of reservations: over time, and the same as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from scheduler.models import Reservation
from scheduler.services.reservation_rows import CHOICES, Phase, ReservationRow, in_phase, matching, rows_for
from scheduler.views.reservation_form import KINDS, ReservationForm
from scheduler.views.reservation_timeline import RANGES, first_instant, timeline
from workers.devices import devices_words
from workers.live import GOOD_FOR, respond
from workers.local_time import offset, said
from workers.models import Worker
from workers.paging import asked_of, by_key, link
from workers.roles import is_operator

FILTERS = ("state", "q", "kind", "range", "at")
NAMED = 2
"""Tasks that a pill names."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of the table, in the viewer's words and zone."""

    row: ReservationRow
    pill: tuple[str, str]
    note: str
    devices: str
    when: str
    created_by: str


def reservation_list(request: HttpRequest) -> HttpResponse:
    """Reservations by state, kind of holder and words, a page at a time."""
    now, zone = timezone.now(), timezone.get_current_timezone()
    asked = asked_of(request.GET, FILTERS)
    state = asked.get("state", "live") if asked.get("state") in CHOICES else "live"
    kind = asked.get("kind", "") if asked.get("kind") in dict(KINDS) else ""
    rows = matching(in_phase(state, now), request.user, q=asked.get("q", ""), kind=kind)
    page = by_key(rows.select_related("worker", "created_by"), "pk", asked, number=True, descending=True)
    shown = {row.reservation.pk: row for row in rows_for(request.user, page.rows, now)}
    context = {
        "nav": "reservations", "state": state, "kind": kind, "q": asked.get("q", ""), "kinds": KINDS,
        "base": reverse("reservations"), "query": link(asked), "tabs": _tabs(asked), "zone_offset": offset(now, zone),
        "page": page.map(lambda row: _shown(shown[row.pk], now, zone)), "filtered": bool(asked.get("q") or kind),
        "none_at_all": not page.rows and not Reservation.objects.exists(),
        **_picture(asked, page.rows, now, zone, request.user),
        **({"form": ReservationForm(), "offset": offset(now, zone)} if is_operator(request.user) else {}),
    }  # fmt: skip
    return respond(
        request, page="scheduler/reservations.html", fragment="scheduler/_reservations.html", context=context,
        good_for=GOOD_FOR,
    )  # fmt: skip


def _picture(
    asked: Mapping[str, str], rows: tuple[Reservation, ...], now: datetime, zone: tzinfo, user: Any
) -> dict[str, Any]:
    word = asked.get("range", "day") if asked.get("range") in RANGES else "day"
    start = first_instant(asked.get("at", ""), now, zone)
    length = timedelta(hours=RANGES[word][1])
    workers: list[Worker] = list({row.worker_id: row.worker for row in rows}.values())
    drawn = timeline(
        sorted(workers, key=lambda worker: worker.name), start=start, word=word, now=now, zone=zone, user=user
    )
    kept = {name: value for name, value in asked.items() if name not in ("after", "before")}
    beside = {"earlier": start - length, "later": start + length}
    return {
        "drawn": drawn, "range": word,
        "ranges": [(name, text, link(kept, range=name)) for name, (text, _) in RANGES.items()],
        **{name: link(kept, at=f"{at:%Y-%m-%dT%H:%MZ}") for name, at in beside.items()}, "today": link(kept, at=""),
        "from_until": (said(start, now=now, zone=zone), said(start + length, now=now, zone=zone)),
    }  # fmt: skip


def _tabs(asked: Mapping[str, str]) -> list[dict[str, str]]:
    kept = {name: value for name, value in asked.items() if name not in ("after", "before")}
    return [{"key": key, "text": text, "link": link(kept, state=key)} for key, text in CHOICES.items()]


def _shown(row: ReservationRow, now: datetime, zone: tzinfo) -> Shown:
    of = row.reservation
    end = said(of.ends_at, now=now, zone=zone) if of.ends_at else "no end"
    when = f"{said(of.starts_at, now=now, zone=zone)} – {end}"
    devices = devices_words(of.devices) if of.devices else "all of it"
    maker = of.created_by.get_username() if of.created_by else ""
    return Shown(row, _pill(row), _note(row, now, zone), devices, when, maker)


def _pill(row: ReservationRow) -> tuple[str, str]:
    if row.phase == Phase.WAITS:
        names = [task.name for task in row.in_the_way]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return "planned", f"Waits for {', '.join(names[:NAMED])}{more}"
    if row.phase == Phase.OVER:
        return "stopped", "Over"
    return ("rsv", "Active") if row.phase == Phase.ACTIVE else ("planned", "Planned")


def _note(row: ReservationRow, now: datetime, zone: tzinfo) -> str:
    of = row.reservation
    if row.phase == Phase.OVER:
        ended = f"ended {said(of.cancelled_at, now=now, zone=zone)}" if of.cancelled_at else ""
        return ": ".join(filter(None, (ended, row.ended_cause)))
    if row.job_is_over:
        return f"{row.holder} is over: this ends by itself"
    if not row.in_the_way:
        return ""
    return begins_when(row, now, zone)


def begins_when(row: ReservationRow, now: datetime, zone: tzinfo) -> str:
    """Which tasks it waits for, and until when each may run."""
    named = (task.name if task.hidden else f"{task.name} ({_limit(task.until, now, zone)})" for task in row.in_the_way)
    have = "has" if len(row.in_the_way) == 1 else "have"
    return f"begins when {', '.join(named)} {have} ended"


def _limit(until: datetime | None, now: datetime, zone: tzinfo) -> str:
    return f"until {said(until, now=now, zone=zone)} at the latest" if until else "no time limit"
