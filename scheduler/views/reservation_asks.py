"""Making, changing and ending reservations: each asks first, and shows what it would mean."""

from __future__ import annotations

from datetime import datetime, tzinfo
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from scheduler.core.decision import Verdict
from scheduler.core.fleet import Window
from scheduler.models import Reservation
from scheduler.services import reservations
from scheduler.services.recorded import recorded
from scheduler.services.reservation_fixes import OverlapError, fix_words
from scheduler.services.reservation_rows import holder_words, rows_for
from scheduler.services.visibility import is_job_id, seen_by
from scheduler.views.reservation_form import (
    KINDS,
    ReservationForm,
    SpanForm,
    fix_value,
    initial_of,
    put_errors,
    with_fix,
    zone_named,
)
from scheduler.views.reservations import begins_when
from scheduler.views.whatif import panel
from workers.live import is_fragment
from workers.local_time import offset, said, written
from workers.proposed import Change
from workers.wire import MAX_ID

UNPROCESSABLE = 422
MOST_FITTING = 8


def new(request: HttpRequest) -> HttpResponse:
    """The form; what it means is shown before anything is saved."""
    now = timezone.now()
    if request.method != "POST":
        return _asked_by_a_link(request, now)
    form = ReservationForm(with_fix(request.POST))
    checked = _checked(request, form, now)
    if form.is_valid() and not checked.get("conflict") and request.POST.get("seen") == form.seen:
        asked = form.reservation(now)
        try:
            made = reservations.reserve(
                worker=asked.worker, holder=asked.holder, devices=asked.devices, starts_at=asked.starts_at,
                ends_at=asked.ends_at, note=asked.note, end_first=form.cleaned_data["end_first"],
                actor=_actor(request), now=now, created_by=request.user,
            )  # fmt: skip
        except ValidationError:  # somebody was faster: shown as it is now
            checked = _checked(request, form, now)
        else:
            return _done(request, made)
    status = 200 if form.is_valid() and not checked.get("conflict") else UNPROCESSABLE
    return render(request, "scheduler/reservation_new.html", _page(form, checked), status=status)


def _asked_by_a_link(request: HttpRequest, now: datetime) -> HttpResponse:
    """The form with what the link says; if that is enough, also with what it would mean."""
    initial = initial_of(request.GET)
    enough = initial["worker"] and initial["holder"]
    form = ReservationForm(initial if enough else None, initial=initial)
    fitting = _fitting(request.user, request.GET.get("holder", ""))
    context = {**(_checked(request, form, now) if enough else {}), "fitting": fitting}
    return render(request, "scheduler/reservation_new.html", _page(form, context))


def check(request: HttpRequest) -> HttpResponse:
    """The piece under the form: what it would mean as it is filled in now. Nothing is saved."""
    form = ReservationForm(with_fix(request.POST))
    return render(request, "scheduler/_reservation_check.html", _checked(request, form, timezone.now()))


def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Another end, or another note."""
    found, now = _found(pk), timezone.now()
    zone = timezone.get_current_timezone()
    if not reservations.is_live(found, now):
        messages.error(request, f"r-{pk} is over.")
        return redirect("reservations")
    if request.method != "POST":
        ends = written(found.ends_at, zone) if found.ends_at else ""
        which = str(found.ends_at.astimezone(zone).fold) if found.ends_at else ""
        form = SpanForm(initial={"ends_at": ends, "ends_which": which, "note": found.note})
        return render(request, "scheduler/reservation_change.html", {**_page(form, {}), **_whose(found)})
    form = SpanForm(with_fix(request.POST))
    checked = _changed(request, form, found, now)
    if form.is_valid() and not checked.get("conflict") and request.POST.get("seen") == form.seen:
        found.ends_at, found.note = form.cleaned_data["ends_at"], form.cleaned_data["note"]
        try:
            reservations.amend(
                reservation=found, actor=_actor(request), now=now, end_first=form.cleaned_data["end_first"]
            )
        except ValidationError:
            checked = _changed(request, form, _found(pk), now)
        else:
            return _done(request, found)
    status = 200 if form.is_valid() and not checked.get("conflict") else UNPROCESSABLE
    context = {**_page(form, checked), **_whose(_found(pk))}
    return render(request, "scheduler/reservation_change.html", context, status=status)


def check_change(request: HttpRequest, pk: int) -> HttpResponse:
    """The piece under that form: what the change would mean as it is filled in now. Nothing is saved."""
    found, now = _found(pk), timezone.now()
    checked = (
        _changed(request, SpanForm(with_fix(request.POST)), found, now)
        if reservations.is_live(found, now)
        else {"problems": [f"r-{pk} is over."]}
    )
    return render(request, "scheduler/_reservation_check.html", checked)


def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End it now, or take it back; asked first."""
    found, now = _found(pk), timezone.now()
    if request.method == "POST":
        done = reservations.end_reservation(reservation=found, actor=_actor(request), now=now)
        messages.success(request, f"r-{pk} has ended.") if done else messages.info(request, f"r-{pk} was over already.")
        return redirect("reservations")
    row = rows_for(request.user, [found], now)[0]
    context = {
        "nav": "reservations", "row": row, "begun": found.starts_at <= now,
        "panel": panel(request, Change(workers=(found.worker.name,), ended=(pk,))),
    }  # fmt: skip
    template = "scheduler/_reservation_ask.html" if is_fragment(request) else "scheduler/reservation_ask.html"
    return render(request, template, context)


def _fitting(user: Any, holder: str) -> list[str]:
    """The first workers that could run the job that it is for, as its latest decision says."""
    kind, _, job_id = holder.partition(":")
    job = seen_by(user).filter(job_id=job_id).first() if kind == "job" and is_job_id(job_id) else None
    kept = recorded(job) if job else None
    if kept is None:
        return []
    fit = (each.worker for each in kept.decision.candidates if each.verdict != Verdict.INCOMPATIBLE)
    return list(islice(fit, MOST_FITTING))


def _checked(request: HttpRequest, form: ReservationForm, now: datetime) -> dict[str, Any]:
    """What there is to say of what the form asks for."""
    if not form.is_valid():
        return {"form": form, "problems": _problems(form)}
    asked = form.reservation(now)
    ending = form.cleaned_data["end_first"]
    try:
        reservations.check(asked, now=now, end_first=ending)
    except OverlapError as overlap:
        return {"form": form, "conflict": _conflict(overlap, zone_named(form.cleaned_data["zone"]), now)}
    except ValidationError as error:
        put_errors(form, error)
        return {"form": form, "problems": _problems(form)}
    row = rows_for(request.user, [asked], now)[0]
    window = _window(asked)
    told = Change(workers=(asked.worker.name,), windows=((asked.worker.name, window),), ended=tuple(ending))
    return {
        "form": form, "seen": form.seen, "holder": holder_words(asked.holder),
        "panel": panel(request, told), "ending": ending, "known": reservations.is_known(asked.holder),
        "begins": begins_when(row, now, zone_named(form.cleaned_data["zone"])) if row.in_the_way else "",
    }  # fmt: skip


def _changed(request: HttpRequest, form: SpanForm, former: Reservation, now: datetime) -> dict[str, Any]:
    """The same for a reservation that is to have another end."""
    if not form.is_valid():
        return {"form": form, "problems": _problems(form)}
    asked = Reservation.objects.select_related("worker").get(pk=former.pk)
    asked.ends_at, asked.note = form.cleaned_data["ends_at"], form.cleaned_data["note"]
    ending = form.cleaned_data["end_first"]
    try:
        reservations.check(asked, now=now, end_first=ending)
    except OverlapError as overlap:
        return {"form": form, "conflict": _conflict(overlap, zone_named(form.cleaned_data["zone"]), now)}
    except ValidationError as error:
        put_errors(form, error)
        return {"form": form, "problems": _problems(form)}
    window = _window(asked)
    name = asked.worker.name
    told = Change(workers=(name,), windows=((name, window),), ended=(asked.pk, *ending))
    return {"form": form, "seen": form.seen, "panel": panel(request, told), "ending": ending, "known": True}


def _conflict(overlap: OverlapError, zone: tzinfo, now: datetime) -> dict[str, Any]:
    def clock(at: datetime) -> str:
        return said(at, now=now, zone=zone)

    return {
        "asked": overlap.asked,
        "others": [
            (other, holder_words(other.holder), clock(other.starts_at), other.ends_at and clock(other.ends_at))
            for other in overlap.others
        ],
        "from": clock(overlap.asked.starts_at),
        "until": overlap.asked.ends_at and clock(overlap.asked.ends_at),
        "fixes": [(fix_words(fix, clock), fix_value(fix, zone)) for fix in overlap.fixes],
    }


def _problems(form: SpanForm) -> list[str]:
    named = {name: field.label or name.replace("_at", "").replace("_", " ") for name, field in form.fields.items()}
    return [
        f"{named[field]}: {text}" if field in named else str(text)
        for field, texts in form.errors.items()
        for text in texts
    ]


def _window(asked: Reservation) -> Window:
    return Window(
        holder=asked.holder, starts_at=asked.starts_at, ends_at=asked.ends_at, devices=tuple(asked.devices)
    )  # fmt: skip


def _page(form: SpanForm, checked: dict[str, Any]) -> dict[str, Any]:
    zone = timezone.get_current_timezone()
    return {
        "nav": "reservations", "kinds": KINDS, "zone": timezone.get_current_timezone_name(),
        "offset": offset(timezone.now(), zone), **checked, "form": form,
    }  # fmt: skip


def _whose(found: Reservation) -> dict[str, Any]:
    return {"reservation": found, "whose": holder_words(found.holder)}


def _found(pk: int) -> Reservation:
    if pk > MAX_ID:
        raise Http404("no such reservation")
    return get_object_or_404(Reservation.objects.select_related("worker", "created_by"), pk=pk)


def _actor(request: HttpRequest) -> str:
    return f"user:{request.user.get_username()}"


def _done(request: HttpRequest, made: Reservation) -> HttpResponse:
    messages.success(request, f"r-{made.pk} keeps {made.worker.name} for {holder_words(made.holder)}.")
    return redirect("reservations")
