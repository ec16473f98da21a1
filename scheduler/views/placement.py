"""The Placement tab: the funnel, the groups, every candidate, and how the decision changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from scheduler.core import explain
from scheduler.core.decision import CandidateGroup
from scheduler.core.reasons import Code
from scheduler.core.variants import lines, variants
from scheduler.models import Decision, Job
from scheduler.models.decisions import Outcome
from scheduler.services.recorded import Recorded, recorded_at
from scheduler.views.candidate_rows import FEW, PILLS, Candidates, segment_of
from scheduler.views.candidate_values import Query
from scheduler.views.why_panels import whys_or_their_place

MOST_GROUPS = 8
MOST_HISTORY = 50
NAMES = 3

_LOSS_ICONS = {"never": "ban", "wait": "clock", "rsv": "bookmark", "none": "minus"}
_OUTCOMES = {
    Outcome.PLACED: ("ok", "circle-check"),
    Outcome.WAITING: ("wait", "clock"),
    Outcome.UNSCHEDULABLE: ("never", "ban"),
}
_STAGE_SEGMENTS = {"workers": "all", "available": "free", "selected": "selected"}


@dataclass(frozen=True, slots=True)
class Loss:
    """Workers that a stage lost, and the link to them."""

    label: str
    count: int
    tone: str
    icon: str
    link: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the funnel."""

    label: str
    count: int
    tone: str
    segment: str
    losses: tuple[Loss, ...]


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


@dataclass(frozen=True, slots=True)
class Change:
    """One kept decision of the past."""

    key: int
    at: datetime
    by: str
    """`Pass 7`; empty where later passes brought its figures up to date, so that the first is no longer known."""
    text: str
    tone: str
    icon: str


def decision_asked_for(job: Job, latest: Recorded | None, data: Mapping[str, str]) -> Recorded | None:
    """The decision that the address names with `d`, else the latest; raises Http404 for one that isn't the job's."""
    wanted = data.get("d", "")
    if not wanted or (latest and wanted == str(latest.row.pk)):
        return latest
    kept = Decision.objects.select_related("pass_row", "job").filter(job=job)
    row = kept.filter(pk=wanted).first() if _is_key(wanted) else None
    if row is None:
        raise Http404("no such decision of this job; it may have been dropped for newer ones")
    return recorded_at(row)


def candidate_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_candidate_rows.html` shows."""
    return {
        "job": job,
        "recorded": rec,
        "candidates": Candidates(rec, Query.of(request.GET)),
        "here": reverse("job-candidates", args=[job.job_id]),
        "pinned": f"d={rec.row.pk}&",
    }


def placement_context(request: HttpRequest, job: Job, rec: Recorded | None) -> dict[str, Any]:
    """What `_placement.html` shows."""
    if rec is None:
        return {"job": job, "recorded": None}
    context = candidate_context(request, job, rec)
    groups = rec.decision.groups()
    known = sum(len(group.workers) for group in groups)
    inside = [group for group in groups if Code.TARGET not in group.codes]
    stages = _funnel(rec)
    return {
        **context,
        "rows": render_to_string("scheduler/_candidate_rows.html", context, request),
        "funnel": stages if known > FEW else (),
        "funnel_title": f"How {known:,} workers became {stages[-1].count:,}" if stages else "",
        "groups": _group_rows(rec, inside[:MOST_GROUPS]) if known > FEW else (),
        "more_groups": max(0, len(inside) - MOST_GROUPS),
        "outside": known - sum(len(group.workers) for group in inside),
        "notes": [explain.note_sentence(note) for note in rec.decision.notes],
        "whys": whys_or_their_place(request, job, rec),
        "history": _history(job),
    }


def _funnel(rec: Recorded) -> tuple[Stage, ...]:
    stages = explain.funnel(rec.entry, rec.decision)
    return tuple(
        Stage(
            label=stage.label,
            count=stage.count,
            tone="ok" if stage.key == "selected" else "run",
            segment=_STAGE_SEGMENTS.get(stage.key, "in"),
            losses=tuple(_loss(loss) for loss in stage.losses),
        )
        for stage in stages
    )


def _loss(loss: explain.Loss) -> Loss:
    return Loss(loss.label, loss.count, loss.tone, _LOSS_ICONS.get(loss.tone, "minus"), _loss_link(loss))


def _loss_link(loss: explain.Loss) -> str:
    if loss.key == "eligible":
        return urlencode({"v": "free"})
    return urlencode({"v": "outside"} if loss.key == Code.TARGET.text else {"v": "in", "reason": loss.key})


def _group_rows(rec: Recorded, groups: Sequence[CandidateGroup]) -> list[GroupRow]:
    told = variants(rec.decision, groups)
    return [_group_row(group, lines(said, len(group.workers))) for group, said in zip(groups, told, strict=True)]


def _group_row(group: CandidateGroup, said: tuple[str, ...]) -> GroupRow:
    key = segment_of(group.verdict, group.codes)
    first, *others = group.workers
    rest = len(others) - NAMES
    return GroupRow(
        count=len(group.workers),
        tone={"selected": "ok", "free": "ok", "busy": "wait", "outside": "none"}.get(key, "never"),
        pill=PILLS[key],
        reasons=tuple((explain.code_tone(code), explain.code_label(code)) for code in group.codes),
        first=first,
        others=", ".join(others[:NAMES]) + (f" and {rest:,} more" if rest > 0 else ""),
        said=said,
    )


def _history(job: Job) -> list[Change]:
    rows = Decision.objects.filter(job=job).select_related("pass_row").only(
        "made_at", "outcome", "summary", "pass_row__number", "pass_row__started_at"
    )[:MOST_HISTORY]  # fmt: skip
    return [_change(row) for row in rows]


def _change(row: Decision) -> Change:
    by = "" if row.refreshed else f"Pass {row.pass_row.number:,}"
    return Change(row.pk, row.made_at, by, str(row.summary["answer"]["lead"]), *_OUTCOMES[Outcome(row.outcome)])


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
