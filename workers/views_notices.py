"""Notices: what operators tell everybody on every page."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from workers import services
from workers.local_time import LocalTimeError, read_local
from workers.models import NoticeLevel
from workers.refusals import Refused
from workers.services.notices import current, ended

MOST_ENDED = 20


def notices(request: HttpRequest, **_: Any) -> HttpResponse:
    """Those that are up, and the last that were; operators put up another one here."""
    return _page(request, {"level": NoticeLevel.INFO})


def post(request: HttpRequest, **_: Any) -> HttpResponse:
    """Put one up."""
    filled = {name: request.POST.get(name, "").strip() for name in ("text", "level", "until")}
    try:
        until = read_local(filled["until"], timezone.get_current_timezone()) if filled["until"] else None
        services.post_notice(
            text=filled["text"], level=filled["level"], ends_at=until, actor=_actor(request), now=timezone.now(),
            created_by=request.user,
        )  # fmt: skip
    except LocalTimeError as error:
        return _page(request, filled, {"ends_at": str(error)}, status=422)
    except Refused as refusal:
        told = {problem.path: f"found {problem.found}; expected {problem.expected}" for problem in refusal.problems}
        return _page(request, filled, told or {"text": refusal.detail}, status=422)
    messages.success(request, "The notice is up.")
    return redirect("notices")


def end(request: HttpRequest, pk: int, **_: Any) -> HttpResponse:
    """Take one down."""
    try:
        services.end_notice(notice_id=pk, actor=_actor(request), now=timezone.now())
        messages.success(request, "The notice is down.")
    except Refused as refusal:
        messages.info(request, refusal.detail)
    return redirect("notices")


def _page(
    request: HttpRequest, filled: dict[str, str], problems: dict[str, str] | None = None, *, status: int = 200
) -> HttpResponse:
    now = timezone.now()
    context = {
        "nav": "workers", "filled": filled, "problems": problems or {}, "levels": NoticeLevel.choices,
        "current": current(now), "ended": ended(now)[:MOST_ENDED],
    }  # fmt: skip
    return render(request, "workers/notices.html", context, status=status)


def _actor(request: HttpRequest) -> str:
    return f"user:{request.user.get_username()}"
