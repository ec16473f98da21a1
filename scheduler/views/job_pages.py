"""The frame of every page about one job: its head kept up to date, its tabs, and what a page puts below them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from scheduler.services.recorded import Recorded
from scheduler.views.job_frame import Frame, head_context
from scheduler.views.newer import reading
from workers.live import live_fragment


def job_page(
    request: HttpRequest, frame: Frame, template: str, context: dict[str, Any], *, read: Recorded | None = None
) -> HttpResponse:
    """A page of this job around what `template` shows; `read` is the decision that it speaks of."""
    head = head_context(frame, request.user, read=read.row.pk if read else None)
    if read is not None:
        head |= reading(read)
    head_html, _ = live_fragment(request, "scheduler/_live.html", head)
    return render(request, template, {**head, **context, "live": head_html})
