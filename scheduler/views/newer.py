"""That a job has been decided anew while somebody reads an earlier decision: told, and nothing moves."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from scheduler.core.difference import changed_count
from scheduler.models import Decision
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_at_for
from scheduler.views.job_frame import Frame

NEWER = "scheduler/_candidates_newer.html"
MARK = 12
"""So much of a fingerprint tells two decisions of a job apart."""


def reading(read: Recorded) -> dict[str, Any]:
    """What a page that shows this decision asks with, to hear of another."""
    asked = {"read": read.row.pk, "seen": read.row.fingerprint[:MARK], "tab": "placement"}
    return {"live_query": urlencode(asked)}


def newer_context(request: HttpRequest, frame: Frame) -> dict[str, Any]:
    """What `_candidates_newer.html` shows: the pass, and how many candidates it changed where that can be said.

    Figures that are brought up to date are no other decision. Two more queries where there is one.
    """
    asked = {name: request.GET.get(name, "") for name in ("read", "seen")}
    context: dict[str, Any] = {"live_query": urlencode({**asked, "tab": "placement"}), "newer": None}
    latest = frame.recorded
    if latest is None or frame.job.is_over or latest.row.fingerprint.startswith(asked["seen"]):
        return context
    earlier = _earlier(request, frame, asked["read"])
    context |= {"newer": latest.row.pass_row.number, "newer_key": latest.row.pk}
    if earlier is not None and earlier.row.pk != latest.row.pk:
        changed = changed_count(earlier.decision, latest.decision)
        context |= {"newer_changed": changed, "newer_earlier": earlier.row.pk}
    return context


def _earlier(request: HttpRequest, frame: Frame, key: str) -> Recorded | None:
    """The decision that is read, if it is still kept."""
    if not (key.isascii() and key.isdigit() and len(key) < 19):
        return None
    row = Decision.objects.filter(job=frame.job, pk=key).select_related("pass_row", "job").first()
    return recorded_at_for(request.user, row) if row else None
