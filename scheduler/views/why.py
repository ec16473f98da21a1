"""Why, beyond the candidates: what would help, what is in the way, every check by group, one worker, what changed."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.core.codec import job_to_document
from scheduler.core.relaxed import Relaxation
from scheduler.core.why import part
from scheduler.forms import yaml_of
from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.services.whys import grounds_of, why_not_on
from scheduler.views.check_panel import checks_context
from scheduler.views.decided import decided
from scheduler.views.job_frame import Frame
from scheduler.views.job_pages import job_page
from scheduler.views.submit import page_with
from scheduler.views.why_panels import whys_context
from scheduler.views.why_values import key_of
from workers.live import is_fragment
from workers.moments import now
from workers.paging import asked_of


def why(request: HttpRequest, job_id: str) -> HttpResponse:
    """Everything behind one decision: the panels by themselves for htmx, else the page around them."""
    frame, rec = decided(request, job_id)
    return _whys(request, frame, rec)


def checks(request: HttpRequest, job_id: str) -> HttpResponse:
    """Every check by group of workers; `by` says how they are grouped."""
    frame, rec = decided(request, job_id)
    if not is_fragment(request):
        return _whys(request, frame, rec)
    return render(request, "scheduler/_why_checks.html", checks_context(request, frame.job, rec))


def edited(request: HttpRequest, job_id: str) -> HttpResponse:
    """The form filled with the job as one of the lines would have it; with `as=yaml` that document as a file."""
    frame, rec = decided(request, job_id)
    asked = asked_of(request.GET, ("edit", "worker", "as"))
    found = next((one for one in _edits(request, frame.job, rec, asked) if key_of(one) == asked.get("edit")), None)
    if found is None:
        messages.info(request, "What would help has changed since that page was made; here it is as it is now.")
        return redirect("job", job_id)
    document = job_to_document(found.spec)
    if asked.get("as") == "yaml":
        name = f"{job_id}-edited.yaml"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
        return HttpResponse(yaml_of(document), content_type="application/yaml; charset=utf-8", headers=headers)
    return page_with(request, document, like=frame.job)


def _whys(request: HttpRequest, frame: Frame, rec: Recorded) -> HttpResponse:
    context = {"tab": "placement", **whys_context(request, frame.job, rec)}
    if is_fragment(request):
        return render(request, "scheduler/_whys.html", context)
    return job_page(request, frame, "scheduler/job_why.html", context, read=rec)


def _edits(request: HttpRequest, job: Job, rec: Recorded, asked: Mapping[str, str]) -> tuple[Relaxation, ...]:
    """The edits among which one is asked for: of the whole fleet, or with one worker in mind."""
    if worker := asked.get("worker"):
        try:
            return why_not_on(rec, job, worker, user=request.user).in_the_job
        except KeyError as error:
            raise Http404("no such worker") from error
    found = part("relaxations", grounds_of(rec, job, user=request.user, now=now()))
    return (*found.alone, *found.together)
