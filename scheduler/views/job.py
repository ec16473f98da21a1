"""The pages of one job."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.forms import yaml_of
from scheduler.services.jobs import document_for
from scheduler.services.recorded import Recorded
from scheduler.views.job_frame import Frame, frame_of, head_context, without_output
from scheduler.views.placement import candidate_context, decision_asked_for, placement_context
from workers.live import is_fragment, live_fragment, respond


def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Placement: the answer, the funnel, and every candidate beside its reasons."""
    frame = frame_of(request.user, job_id)
    return _placement_page(request, frame, decision_asked_for(request, frame.job, frame.recorded))


def live(request: HttpRequest, job_id: str) -> HttpResponse:
    """The head and the answer, by themselves for htmx; `read` names the decision that the page below shows."""
    frame = frame_of(request.user, job_id)
    read = request.GET.get("read", "")
    if not is_fragment(request):
        return redirect("job", job_id)
    context = head_context(frame, request.user, read=int(read) if read.isdigit() else None)
    if request.GET.get("tab") == "log":
        context = without_output(context)
    return respond(request, page="scheduler/job.html", fragment="scheduler/_live.html", context=context)


def placement(request: HttpRequest, job_id: str) -> HttpResponse:
    """The Placement tab by itself, for a page that was opened before there was a decision."""
    frame = frame_of(request.user, job_id)
    if not is_fragment(request):
        return redirect("job", job_id)
    if frame.recorded is None and not frame.job.is_over:
        return HttpResponse(status=304)
    return render(request, "scheduler/_placement.html", placement_context(request, frame.job, frame.recorded))


def candidates(request: HttpRequest, job_id: str) -> HttpResponse:
    """The candidates of one decision, filtered; the whole page for anybody but htmx."""
    frame = frame_of(request.user, job_id)
    rec = decision_asked_for(request, frame.job, frame.recorded)
    if rec is None:
        raise Http404("this job has no decision yet")
    if not is_fragment(request):
        return _placement_page(request, frame, rec)
    context = {**candidate_context(request, frame.job, rec), "oob": True}
    return render(request, "scheduler/_candidate_rows.html", context)


def spec(request: HttpRequest, job_id: str) -> HttpResponse:
    """The document as submitted, and what this run was given."""
    frame = frame_of(request.user, job_id)
    document = document_for(request.user, frame.job)
    context = {"document": yaml_of(document), "argv": document.get("command", [])}
    return job_page(request, frame, "scheduler/job_spec.html", {"tab": "spec", **context})


def _placement_page(request: HttpRequest, frame: Frame, rec: Recorded | None) -> HttpResponse:
    context = {"tab": "placement", **placement_context(request, frame.job, rec)}
    return job_page(request, frame, "scheduler/job.html", context, read=rec)


def job_page(
    request: HttpRequest, frame: Frame, template: str, context: dict[str, Any], *, read: Recorded | None = None
) -> HttpResponse:
    """A page of this job around what `template` shows; `read` is the decision that it speaks of."""
    head = head_context(frame, request.user, read=read.row.pk if read else None)
    head_html, _ = live_fragment(request, "scheduler/_live.html", head)
    return render(request, template, {**head, **context, "live": head_html})
