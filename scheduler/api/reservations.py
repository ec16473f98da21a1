"""Reservations over HTTP: everybody sees them, operators make, change and end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Path, Query, Router, Status
from pydantic import BaseModel

from scheduler.api.wire_reservations import (
    OverlapOut,
    ReservationChange,
    ReservationIn,
    ReservationOut,
    ReservationsAsked,
    ReservationsOut,
)
from scheduler.core.errors import Problem
from scheduler.core.words import in_utc
from scheduler.models import Reservation
from scheduler.services import reservations
from scheduler.services.reservation_fixes import Fix, OverlapError, fix_words
from scheduler.services.reservation_rows import ReservationRow, in_phase, matching, rows_for
from workers.api import actor_of
from workers.queries import live_workers
from workers.refusals import NotFound, Refused
from workers.wire import Id, refusals

router = Router(tags=["reservations"])

ReservationId = Path[Id]
MOST_SHOWN = 80
_MADE = {**refusals(403, 404, 409, body=True), 409: OverlapOut}


@router.get("reservations", response={200: ReservationsOut, **refusals()})
def list_reservations(request: HttpRequest, asked: Query[ReservationsAsked]) -> Any:
    """Reservations, newest first; `live` are those in force and to come. `q` is part of a worker, holder or note."""
    rows = matching(
        in_phase(asked.state, timezone.now()), request.user, q=asked.q, kind=asked.kind or "", worker=asked.worker
    )
    if asked.after is not None:
        rows = rows.filter(pk__lt=asked.after)
    some = list(rows.select_related("worker", "created_by").order_by("-pk")[: asked.limit + 1])
    shown = some[: asked.limit]
    return {"items": _documents(request, shown), "next": shown[-1].pk if len(some) > asked.limit else None}


@router.get("reservations/{reservation_id}", response={200: ReservationOut, **refusals(404)})
def get_reservation(request: HttpRequest, reservation_id: ReservationId) -> Any:
    """One reservation."""
    return _documents(request, [_found(reservation_id)])[0]


@router.post("reservations", response={201: ReservationOut, **_MADE})
def create_reservation(request: HttpRequest, payload: ReservationIn) -> Any:
    """Keep a worker, or some of its devices, for a job, a person or a team. Operators may.

    Nothing that runs there is stopped: it begins when the tasks in `waits_for` have ended. Where others have reserved
    the same, the answer names them and the two nearest ways out.
    """
    now = timezone.now()
    worker = live_workers().filter(name=payload.worker).first()
    if worker is None:
        raise NotFound(f"no worker {payload.worker[:100]!r}", code="no_such_worker")
    made = _told(request, payload, lambda: reservations.reserve(
        worker=worker, holder=payload.holder, devices=payload.devices, starts_at=payload.starts_at or now,
        ends_at=payload.ends_at, note=payload.note, end_first=payload.end_first, actor=actor_of(request), now=now,
        created_by=request.user,
    ))  # fmt: skip
    return Status(201, _documents(request, [made])[0])


@router.patch("reservations/{reservation_id}", response={200: ReservationOut, **_MADE})
def change_reservation(request: HttpRequest, reservation_id: ReservationId, payload: ReservationChange) -> Any:
    """Change the end or the note of a reservation that is not over. Operators may."""
    found, now = _found(reservation_id), timezone.now()
    if "ends_at" in payload.model_fields_set:
        found.ends_at = payload.ends_at
    if payload.note is not None:
        found.note = payload.note
    _told(request, payload, lambda: reservations.amend(
        reservation=found, actor=actor_of(request), now=now, end_first=payload.end_first
    ))  # fmt: skip
    return _documents(request, [found])[0]


@router.post("reservations/{reservation_id}/end", response={200: ReservationOut, **refusals(403, 404, body=True)})
def end_reservation(request: HttpRequest, reservation_id: ReservationId) -> Any:
    """End a reservation now, or take one back that has not begun; one that is over stays as it is. Operators may."""
    found = _found(reservation_id)
    reservations.end_reservation(reservation=found, actor=actor_of(request), now=timezone.now())
    return get_reservation(request, reservation_id)


def _found(key: int) -> Reservation:
    row = Reservation.objects.select_related("worker", "created_by").filter(pk=key).first()
    if row is None:
        raise NotFound(f"no reservation {key}", code="no_such_reservation")
    return row


def _told(request: HttpRequest, payload: BaseModel, act: Callable[[], Reservation]) -> Reservation:
    """Do it; what is wrong is told with everything that is wrong, and with the ways out where others are in the way."""
    try:
        return act()
    except OverlapError as overlap:
        raise Refused(
            "reserved", " ".join(overlap.messages), conflicts=_documents(request, overlap.others),
            fixes=[_fix(fix) for fix in overlap.fixes],
        ) from overlap  # fmt: skip
    except ValidationError as error:
        problems = tuple(
            Problem(field, ascii(getattr(payload, field, None))[:MOST_SHOWN], text)
            for field, texts in error.message_dict.items()
            for text in texts
        )
        raise Refused("invalid", "the reservation is not accepted", status=422, problems=problems) from error


def _fix(fix: Fix) -> dict[str, Any]:
    instants = {"starts_at": fix.starts_at, "ends_at": fix.ends_at}
    changes = {
        **{name: at.isoformat() for name, at in instants.items() if at is not None},
        **({"devices": list(fix.devices)} if fix.devices is not None else {}),
        **({"end_first": list(fix.end_first)} if fix.end_first else {}),
    }
    return {"kind": fix.kind, "text": fix_words(fix, in_utc), "changes": changes}


def _documents(request: HttpRequest, rows: Sequence[Reservation]) -> list[dict[str, Any]]:
    shown = rows_for(request.user, rows, timezone.now())
    return [ReservationOut(**_document(row)).model_dump(mode="json") for row in shown]


def _document(row: ReservationRow) -> dict[str, Any]:
    of = row.reservation
    return {
        "id": of.pk,
        "worker": of.worker.name,
        "devices": of.devices,
        "holder": f"{row.kind}:{row.holder}",
        "phase": row.phase,
        "starts_at": of.starts_at,
        "ends_at": of.ends_at,
        "ended_at": of.cancelled_at,
        "ended_cause": row.ended_cause,
        "job_is_over": row.job_is_over,
        "waits_for": [
            {"job_id": task.name, "devices": list(task.devices), "until": task.until} for task in row.in_the_way
        ],
        "note": of.note,
        "created_at": of.created_at,
        "created_by": of.created_by.get_username() if of.created_by else None,
        "url": f"{reverse('reservations')}#r-{of.pk}",
    }
