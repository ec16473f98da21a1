"""The Placement tab: what surrounds the funnel, every candidate, and how the decision changed."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string

from scheduler.core import explain
from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.views.candidates import candidate_context
from scheduler.views.job_earlier import earlier_context
from scheduler.views.job_timeline import timeline_context
from scheduler.views.why_panels import whys_or_their_place


def placement_context(request: HttpRequest, job: Job, rec: Recorded | None) -> dict[str, Any]:
    """What `_placement.html` shows."""
    if rec is None:
        return {"job": job, "recorded": None}
    context = candidate_context(request, job, rec)
    context["rows"] = render_to_string("scheduler/_candidate_rows.html", context, request)
    context["few"] = context["candidates"].few
    return {
        **context,
        **timeline_context(request.user, job),
        **earlier_context(job, rec),
        "notes": [explain.note_sentence(note) for note in rec.decision.notes],
        "whys": whys_or_their_place(request, job, rec, context),
    }
