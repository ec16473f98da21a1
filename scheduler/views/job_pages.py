"""The frame of every page about one job: its head kept up to date, its tabs, and what a page puts below them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from scheduler.services.recorded import Recorded
from scheduler.views.job_frame import Frame, head_context
from scheduler.views.newer import NEWER, reading
from workers.live import live_fragment


def job_page(
    request: HttpRequest, frame: Frame, template: str, context: dict[str, Any], *, read: Recorded | None = None
) -> HttpResponse:
    """A page of this job around what `template` shows; `read` is the decision that it speaks of."""
    head = head_context(frame, request.user, read=read.row.pk if read else None)
    if read is not None:
        head |= reading(read)
    beside = render_to_string(NEWER, head, request) if read else ""
    head_html, _ = live_fragment(request, "scheduler/_live.html", head, beside=beside)
    return render(request, template, {**head, **context, "live": head_html})
