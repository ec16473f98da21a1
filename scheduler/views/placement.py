"""The Placement tab: the funnel, the groups, every candidate, and how the decision changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from scheduler.core import explain
from scheduler.core.decision import CandidateGroup
from scheduler.core.reasons import Code
from scheduler.core.variants import lines, variants
from scheduler.models import Decision, Job
from scheduler.models.decisions import Outcome
from scheduler.services.pins import decision_at
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_at_for
from scheduler.services.visibility import teller_for
from scheduler.views.candidate_query import Query, loss_link, stage_link
from scheduler.views.candidate_rows import FEW, Candidates
from scheduler.views.verdicts import PILLS, segment_of
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
    link: str
    """Those who got there, as a query string of the candidates."""
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


def decision_asked_for(request: HttpRequest, job: Job, latest: Recorded | None) -> Recorded | None:
    """The decision that the address names by its `pass` or its own key `d`, else the latest; Http404 for none."""
    number, key = request.GET.get("pass", ""), request.GET.get("d", "")
    named = number or key
    if not named or (latest and named == str(latest.row.pass_row.number if number else latest.row.pk)):
        return latest
    kept = Decision.objects.select_related("pass_row", "job").filter(job=job)
    row = None
    if _is_key(named):
        row = decision_at(job, int(number)) if number else kept.filter(pk=key).first()
    if row is None:
        raise Http404("no such decision of this job; it may have been dropped for newer ones")
    return recorded_at_for(request.user, row)


def candidate_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_candidate_rows.html` shows."""
    return {
        "job": job,
        "recorded": rec,
        "candidates": Candidates(rec, Query.of(request.GET)),
        "here": reverse("job-candidates", args=[job.job_id]),
        "pinned": f"pass={rec.row.pass_row.number}&",
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
        "history": _history(request.user, job),
    }


def _funnel(rec: Recorded) -> tuple[Stage, ...]:
    stages = explain.funnel(rec.entry, rec.decision)
    return tuple(
        Stage(
            label=stage.label,
            count=stage.count,
            tone="ok" if stage.key == "selected" else "run",
            link=stage_link(stage.key),
            losses=tuple(_loss(stage.key, loss) for loss in stage.losses),
        )
        for stage in stages
    )


def _loss(stage: str, loss: explain.Loss) -> Loss:
    link = loss_link(stage, loss.key)
    return Loss(loss.label, loss.count, loss.tone, _LOSS_ICONS.get(loss.tone, "minus"), link)


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


def _history(user: Any, job: Job) -> list[Change]:
    rows = Decision.objects.filter(job=job).select_related("pass_row").only(
        "made_at", "outcome", "summary", "pass_row__number", "pass_row__started_at"
    )[:MOST_HISTORY]  # fmt: skip
    tell = teller_for(user, map(_lead, rows))
    return [_change(row, tell(_lead(row))) for row in rows]


def _change(row: Decision, lead: str) -> Change:
    by = "" if row.refreshed else f"Pass {row.pass_row.number:,}"
    return Change(row.pk, row.made_at, by, lead, *_OUTCOMES[Outcome(row.outcome)])


def _lead(row: Decision) -> str:
    return str(row.summary["answer"]["lead"])


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
