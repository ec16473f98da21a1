"""Why not there: one job on one worker, check by check, from either side."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from scheduler.core.check_words import remedies_lead
from scheduler.core.decision import Candidate
from scheduler.services.recorded import Recorded
from scheduler.services.visibility import seen_by
from scheduler.services.whys import why_not_on
from scheduler.views.decided import decided
from scheduler.views.job_frame import Frame
from scheduler.views.verdicts import PILLS, in_my_zone, reasons_of, segment_of
from scheduler.views.why_values import check_lines, edits
from workers.paging import asked_of

SHOWN = ("all", "failed", "asked")


def why_not(request: HttpRequest, job_id: str, worker: str) -> HttpResponse:
    """One job on one worker as a decision saw both."""
    frame, rec = decided(request, job_id)
    try:
        found = why_not_on(rec, frame.job, worker, user=request.user, clock=in_my_zone())
    except KeyError as error:
        raise Http404(f"no worker of this name was known when {job_id} was decided") from error
    candidate, number = rec.decision.candidate(worker), rec.row.pass_row.number
    which = request.GET.get("show", "all")
    context = {
        "nav": "jobs",
        "job": frame.job,
        "recorded": rec,
        "since": _since(frame, rec, candidate),
        "worker": worker,
        "found": found,
        "tone": PILLS[_segment(candidate)],
        "reasons": reasons_of(candidate),
        "remedies_lead": remedies_lead(found),
        "bands": check_lines(found.checks, which),
        "which": which if which in SHOWN else "all",
        "edits": edits(found.in_the_job),
        "pinned_only": f"pass={number}",
        "share": request.build_absolute_uri(f"{request.path}?pass={number}"),
    }
    return render(request, "scheduler/job_why_not.html", context)


def ask(request: HttpRequest) -> HttpResponse:
    """From a worker's page: the page of that job on this worker, or the jobs that match what was typed."""
    asked = asked_of(request.GET, ("job", "worker"))
    job_id, worker = asked.get("job", ""), asked.get("worker", "")
    if worker.isprintable() and worker and seen_by(request.user).filter(job_id=job_id).exists():
        return redirect("job-why-not", job_id, worker)
    return redirect(f"{reverse('jobs')}?{urlencode({'state': 'all', 'q': job_id})}")


def _segment(candidate: Candidate) -> str:
    return segment_of(candidate.verdict, [reason.code for reason in candidate.reasons])


def _since(frame: Frame, rec: Recorded, then: Candidate) -> dict[str, Any] | None:
    """What the latest decision says of this worker where an earlier one is read; None where the latest is."""
    latest = frame.recorded
    if latest is None or latest.row.pk == rec.row.pk:
        return None
    try:
        now = latest.decision.candidate(then.worker)
    except KeyError:
        return {"number": latest.row.pass_row.number, "gone": True}
    codes = [[reason.code for reason in one.reasons] for one in (then, now)]
    same = then.verdict is now.verdict and codes[0] == codes[1]
    return {"number": latest.row.pass_row.number, "same": same, "pill": PILLS[_segment(now)]}
