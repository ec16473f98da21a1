"""What changed between two kept decisions of a job: steps side by side, and every candidate that stands differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse

from scheduler.core import explain
from scheduler.core.answers import capital
from scheduler.core.difference import Changed, Difference
from scheduler.core.why_words import difference_lead
from scheduler.models import Decision, Job
from scheduler.models.decisions import Outcome
from scheduler.services.changes import difference_between, kept_decision, kept_of
from scheduler.services.recorded import Recorded
from scheduler.views.job_frame import frame_of
from scheduler.views.job_pages import job_page
from scheduler.views.verdicts import PILLS, reasons_of, segment_of
from workers.moments import clock, now

MOST_CHANGES = 100
KINDS = {"all": "All", "verdict": "Verdict", "reasons": "Reasons only"}
_OUTCOMES = {Outcome.PLACED: "placed", Outcome.WAITING: "waiting", Outcome.UNSCHEDULABLE: "never fits"}

Side = tuple[tuple[str, str] | None, tuple[tuple[str, str], ...]]
"""A pill, none where the fleet did not have the worker; and every reason as tone and sentence."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A candidate before and after, and through what it came."""

    worker: str
    sides: tuple[Side, Side]
    because: str
    selected: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """One stage of the funnel before and after."""

    label: str
    before: int
    after: int
    change: str


def changes(request: HttpRequest, job_id: str) -> HttpResponse:
    """From one decision to another: the latest two unless told otherwise; `earlier=first` is the first one kept."""
    frame = frame_of(request.user, job_id)
    rows = kept_of(frame.job)
    if not rows:
        raise Http404("this job has no decision yet")
    later = _key(request.GET, "later") or rows[0].pk
    earlier = rows[-1].pk if request.GET.get("earlier") == "first" else _key(request.GET, "earlier")
    earlier = earlier or next((row.pk for row in rows if row.pk < later), None)
    after = _kept(request, frame.job, later)
    before = _kept(request, frame.job, earlier) if earlier and earlier != later else None
    context = {
        "tab": "placement", "choices": [(row.pk, _named(row)) for row in rows], "earlier": earlier, "later": later,
        "api": f"/api/v1/jobs/{job_id}/differences?{urlencode({'earlier': earlier or '', 'later': later})}",
        **(_shown(before, after, request.GET.get("changed", "all")) if before else {"difference": None}),
    }  # fmt: skip
    return job_page(request, frame, "scheduler/job_changes.html", context)


def _shown(before: Recorded, after: Recorded, kind: str) -> dict[str, Any]:
    found = difference_between(before, after)
    kinds = {"all": found.changed, "verdict": _of_verdict(found), "reasons": _of_reasons(found)}
    kind = kind if kind in kinds else "all"
    chosen = {place.worker for place in after.decision.assignments}
    ordered = sorted(kinds[kind], key=lambda one: (one.worker not in chosen, one.before == one.after))
    return {
        "difference": found,
        "lead": capital(difference_lead(found)),
        "title": _title(found),
        "known": len(after.fleet.workers),
        "kinds": [(key, KINDS[key], len(some), key == kind) for key, some in kinds.items()],
        "steps": list(_steps(before, after)),
        "passes": (before.row.pass_row.number, after.row.pass_row.number),
        "changed": [_row(one, before, after, one.worker in chosen) for one in ordered[:MOST_CHANGES]],
        "more": max(0, len(ordered) - MOST_CHANGES),
    }


def _title(found: Difference) -> str:
    was, became = (_OUTCOMES[Outcome(one)] for one in (found.outcome_before, found.outcome_after))
    return f"From {was} to {became}" if was != became else f"Still {became}"


def _of_verdict(found: Difference) -> Sequence[Changed]:
    return [one for one in found.changed if one.before != one.after]


def _of_reasons(found: Difference) -> Sequence[Changed]:
    return [one for one in found.changed if one.before == one.after]


def _steps(before: Recorded, after: Recorded) -> Iterator[StepRow]:
    was = {stage.key: stage.count for stage in explain.funnel(before.entry, before.decision)}
    for stage in explain.funnel(after.entry, after.decision):
        earlier = was.get(stage.key, 0)
        gained = stage.count - earlier
        yield StepRow(
            stage.label.split(":")[0], earlier, stage.count, f"{gained:+,}".replace("-", "−") if gained else "–"
        )


def _row(one: Changed, before: Recorded, after: Recorded, chosen: bool) -> ChangeRow:
    headline = capital(one.headline.removeprefix(one.worker).strip()).removesuffix(".")
    return ChangeRow(
        worker=one.worker,
        sides=(
            _side(before, one.worker, known=one.before is not None),
            _side(after, one.worker, known=one.after is not None),
        ),
        because=": ".join(filter(None, (headline, "; ".join(one.causes)))),
        selected=chosen,
    )


def _side(rec: Recorded, worker: str, *, known: bool) -> Side:
    if not known:
        return None, ()
    candidate = rec.decision.candidate(worker)
    segment = segment_of(candidate.verdict, [reason.code for reason in candidate.reasons])
    return PILLS[segment], reasons_of(candidate)


def _named(row: Decision) -> str:
    return f"Pass {row.pass_row.number:,} · {clock(row.made_at, now=now())} · {_OUTCOMES[Outcome(row.outcome)]}"


def _key(data: Mapping[str, str], name: str) -> int | None:
    text = data.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Http404("decisions are numbers")
    return int(text)


def _kept(request: HttpRequest, job: Job, key: int) -> Recorded:
    found = kept_decision(request.user, job, key)
    if found is None:
        raise Http404("no such decision of this job; it may have been dropped for newer ones")
    return found
