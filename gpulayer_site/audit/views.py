"""The page of the trail, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from gpulayer_site.audit.asked import kept, read_question
from gpulayer_site.audit.export import KINDS, as_csv, as_json_lines
from gpulayer_site.audit.rows import Row
from workers.models import Event
from workers.paging import link
from workers.roles import is_administrator
from workers.services.seals import last_seal
from workers.services.trail_search import Found, every, find


def audit(request: HttpRequest) -> HttpResponse:
    """Who did what, to what, when, and from where."""
    question = read_question(request.GET.dict())
    everything = is_administrator(request.user)
    found = find(question.asked, everything=everything, before=question.before, after=question.after)
    filters = kept(request.GET.dict())
    context = {
        "nav": "audit",
        "rows": [Row(event) for event in found.events],
        "filters": filters,
        "problems": question.problems,
        "everything": everything,
        **_links(found, filters),
    }
    status = 422 if question.problems else 200
    if request.headers.get("HX-Request"):
        return render(request, "audit/_rows.html", context, status=status)
    return render(request, "audit/audit.html", {**context, "seal": last_seal()}, status=status)


def export(request: HttpRequest) -> HttpResponseBase:
    """The same as a file, all of it; that it was taken is written down."""
    question = read_question(request.POST.dict())
    kind = request.POST.get("format", "")
    if question.problems or kind not in KINDS:
        wrong = [*(f"{each.path}: {each.expected}" for each in question.problems)]
        wrong += [] if kind in KINDS else [f"format: one of {', '.join(KINDS)}"]
        return HttpResponse("\n".join(wrong), status=422, content_type="text/plain; charset=utf-8")
    everything, now = is_administrator(request.user), timezone.now()
    Event.objects.create(
        at=now, actor=f"user:{request.user.get_username()}", subject_kind="trail", subject="events", verb="exported",
        after=kind, detail=kept(request.POST.dict()),
    )  # fmt: skip
    events = every(question.asked, everything=everything)
    lines: Iterator[str] = as_csv(events) if kind == "csv" else as_json_lines(events)
    name = f"audit-{now:%Y-%m-%d-%H%M%S}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=KINDS[kind], headers=headers)


def _links(found: Found, filters: dict[str, str]) -> dict[str, Any]:
    return {
        "older": link(filters, before=str(found.older)) if found.older else "",
        "newer": link(filters, after=str(found.newer)) if found.newer else "",
        "back_to": found.back_to,
        "query": link(filters),
    }
