"""Why, beyond the candidates: what would help, what is in the way, every check by group, one worker, what changed."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from scheduler.core.codec import job_to_document
from scheduler.core.relaxed import Relaxation
from scheduler.core.why import part
from scheduler.core.why_words import difference_lead
from scheduler.forms import yaml_of
from scheduler.models import Job
from scheduler.services.changes import difference_between, kept_decision, kept_of
from scheduler.services.recorded import Recorded
from scheduler.services.visibility import seen_by
from scheduler.services.whys import grounds_of, why_not_on
from scheduler.views.job import job_page
from scheduler.views.job_frame import Frame, frame_of
from scheduler.views.placement import decision_asked_for
from scheduler.views.submit import page_with
from scheduler.views.verdicts import PILLS, reasons_of, segment_of
from scheduler.views.why_panels import checks_context, whys_context
from scheduler.views.why_values import change_rows, check_lines, edits, key_of
from workers.live import is_fragment
from workers.moments import now
from workers.paging import asked_of

MOST_CHANGES = 100


def why(request: HttpRequest, job_id: str) -> HttpResponse:
    """Everything behind one decision: the panels by themselves for htmx, else the page around them."""
    frame, rec = _decided(request, job_id)
    return _whys(request, frame, rec)


def checks(request: HttpRequest, job_id: str) -> HttpResponse:
    """Every check by group of workers; `by` says how they are grouped."""
    frame, rec = _decided(request, job_id)
    if not is_fragment(request):
        return _whys(request, frame, rec)
    return render(request, "scheduler/_why_checks.html", checks_context(request, frame.job, rec))


def why_not(request: HttpRequest, job_id: str, worker: str) -> HttpResponse:
    """One job on one worker, check by check."""
    frame, rec = _decided(request, job_id)
    try:
        found = why_not_on(rec, frame.job, worker, user=request.user)
    except KeyError as error:
        raise Http404(f"no worker of this name was known when {job_id} was decided") from error
    candidate = rec.decision.candidate(worker)
    segment = segment_of(candidate.verdict, [reason.code for reason in candidate.reasons])
    which = request.GET.get("r", "all")
    context = {
        "nav": "jobs",
        "job": frame.job,
        "recorded": rec,
        "latest": rec is frame.recorded,
        "worker": worker,
        "found": found,
        "tone": PILLS[segment],
        "reasons": reasons_of(candidate),
        "bands": check_lines(found.checks, which),
        "which": which if which in ("failed", "asked") else "all",
        "edits": edits(found.in_the_job),
        "share": request.build_absolute_uri(f"{request.path}?d={rec.row.pk}"),
    }
    return render(request, "scheduler/job_why_not.html", context)


def edited(request: HttpRequest, job_id: str) -> HttpResponse:
    """The form filled with the job as one of the lines would have it; with `as=yaml` that document as a file."""
    frame, rec = _decided(request, job_id)
    asked = asked_of(request.GET, ("edit", "worker", "as"))
    found = next((one for one in _edits(request, frame.job, rec, asked) if key_of(one) == asked.get("edit")), None)
    if found is None:
        raise Http404("this decision has no such line any more; look at the job's page again")
    document = job_to_document(found.spec)
    if asked.get("as") == "yaml":
        name = f"{job_id}-edited.yaml"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
        return HttpResponse(yaml_of(document), content_type="application/yaml; charset=utf-8", headers=headers)
    return page_with(request, document, like=frame.job)


def changes(request: HttpRequest, job_id: str) -> HttpResponse:
    """What changed between two kept decisions of a job: the latest two unless told otherwise."""
    frame = frame_of(request.user, job_id)
    rows = kept_of(frame.job)
    if not rows:
        raise Http404("this job has no decision yet")
    later = _key(request.GET, "later") or rows[0].pk
    earlier = _key(request.GET, "earlier") or next((row.pk for row in rows if row.pk < later), None)
    after = _kept(request, frame.job, later)
    before = _kept(request, frame.job, earlier) if earlier else None
    found = difference_between(before, after) if before else None
    context = {
        "tab": "placement", "rows": rows, "earlier": earlier, "later": later, "difference": found,
        "lead": difference_lead(found) if found else "", "changed": change_rows(found)[:MOST_CHANGES] if found else (),
        "more": max(0, len(found.changed) - MOST_CHANGES) if found else 0,
        "api": f"/api/v1/jobs/{job_id}/differences?{urlencode({'earlier': earlier or '', 'later': later})}",
    }  # fmt: skip
    return job_page(request, frame, "scheduler/job_changes.html", context)


def ask(request: HttpRequest) -> HttpResponse:
    """From a worker's page: the page of that job on this worker, or the jobs that match what was typed."""
    asked = asked_of(request.GET, ("job", "worker"))
    job_id, worker = asked.get("job", ""), asked.get("worker", "")
    if worker.isprintable() and worker and seen_by(request.user).filter(job_id=job_id).exists():
        return redirect("job-why-not", job_id, worker)
    return redirect(f"{reverse('jobs')}?{urlencode({'state': 'all', 'q': job_id})}")


def _whys(request: HttpRequest, frame: Frame, rec: Recorded) -> HttpResponse:
    context = {"tab": "placement", **whys_context(request, frame.job, rec)}
    if is_fragment(request):
        return render(request, "scheduler/_whys.html", context)
    return job_page(request, frame, "scheduler/job_why.html", context, read=rec)


def _decided(request: HttpRequest, job_id: str) -> tuple[Frame, Recorded]:
    """The job, and the decision that the address names, else the latest; Http404 where there is none."""
    frame = frame_of(request.user, job_id)
    rec = decision_asked_for(request, frame.job, frame.recorded)
    if rec is None:
        raise Http404("this job has no decision yet")
    return frame, rec


def _edits(request: HttpRequest, job: Job, rec: Recorded, asked: Mapping[str, str]) -> tuple[Relaxation, ...]:
    """The edits among which one is asked for: of the whole fleet, or with one worker in mind."""
    if worker := asked.get("worker"):
        try:
            return why_not_on(rec, job, worker, user=request.user).in_the_job
        except KeyError as error:
            raise Http404("no such worker") from error
    found = part("relaxations", grounds_of(rec, job, user=request.user, now=now()))
    return (*found.alone, *found.together)


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
