"""The Placement tab: what surrounds the funnel, every candidate, and how the decision changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string

from scheduler.core import explain
from scheduler.core.decision import CandidateGroup
from scheduler.core.reasons import Code
from scheduler.core.variants import lines, variants
from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.views.candidates import candidate_context
from scheduler.views.job_earlier import earlier_context
from scheduler.views.job_timeline import timeline_context
from scheduler.views.verdicts import PILLS, segment_of
from scheduler.views.why_panels import whys_or_their_place

MOST_GROUPS = 8
NAMES = 3


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Workers with the same set of reasons."""

    count: int
    tone: str
    pill: tuple[str, str]
    reasons: tuple[tuple[str, str], ...]
    first: str
    others: str
    said: tuple[str, ...]
    """What stands against them with their figures, the commonest first."""


def placement_context(request: HttpRequest, job: Job, rec: Recorded | None) -> dict[str, Any]:
    """What `_placement.html` shows."""
    if rec is None:
        return {"job": job, "recorded": None}
    context = candidate_context(request, job, rec)
    context["rows"] = render_to_string("scheduler/_candidate_rows.html", context, request)
    context["few"] = context["candidates"].few
    return {
        **context,
        **({} if context["few"] else _groups(rec)),
        **timeline_context(request.user, job),
        **earlier_context(job, rec),
        "notes": [explain.note_sentence(note) for note in rec.decision.notes],
        "whys": whys_or_their_place(request, job, rec, context),
    }


def _groups(rec: Recorded) -> dict[str, Any]:
    groups = rec.decision.groups()
    inside = [group for group in groups if Code.TARGET not in group.codes]
    return {
        "groups": _group_rows(rec, inside[:MOST_GROUPS]),
        "more_groups": max(0, len(inside) - MOST_GROUPS),
        "outside": sum(len(group.workers) for group in groups) - sum(len(group.workers) for group in inside),
    }


def _group_rows(rec: Recorded, groups: Sequence[CandidateGroup]) -> list[GroupRow]:
    told = variants(rec.decision, groups)
    return [_group_row(group, lines(said, len(group.workers))) for group, said in zip(groups, told, strict=True)]


def _group_row(group: CandidateGroup, said: tuple[str, ...]) -> GroupRow:
    key = segment_of(group.verdict, group.codes)
    first, *others = group.workers
    rest = len(others) - NAMES
    return GroupRow(
        count=len(group.workers),
        tone={"selected": "ok", "free": "ok", "busy": "wait", "reserved": "rsv", "outside": "none"}.get(key, "never"),
        pill=PILLS[key],
        reasons=tuple((explain.code_tone(code), explain.code_label(code)) for code in group.codes),
        first=first,
        others=", ".join(others[:NAMES]) + (f" and {rest:,} more" if rest > 0 else ""),
        said=said,
    )
