"""The panels about why on a job's page: at once where they cost little, else fetched by the page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.services.whys import grounds_of
from scheduler.views.check_panel import checks_context
from scheduler.views.job_funnel import funnel_context
from scheduler.views.job_groups import groups_context
from scheduler.views.job_panels import panels_context
from workers.moments import now

AT_ONCE = 1_000
"""Up to so many workers the panels are there when the page is; of more they come by themselves."""


def whys_or_their_place(request: HttpRequest, job: Job, rec: Recorded, around: dict[str, Any]) -> SafeString:
    """The panels, or the funnel and what fetches the others; `around` is what the page shows of the candidates."""
    if len(rec.fleet.workers) <= AT_ONCE:
        return render_to_string("scheduler/_whys.html", {**around, **whys_context(request, job, rec)}, request)
    return render_to_string("scheduler/_whys_place.html", {"job": job, "recorded": rec, **funnel_context(rec)}, request)


def whys_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_whys.html` shows."""
    grounds = grounds_of(rec, job, user=request.user, now=now())
    return {
        **checks_context(request, job, rec), **funnel_context(rec), **panels_context(job, rec, grounds),
        **groups_context(rec),
    }  # fmt: skip
