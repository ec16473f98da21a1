"""What a job has left: listed with where it lies, and downloaded."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from scheduler.models import Job
from scheduler.output_download import as_attachment
from scheduler.services.jobs import NOT_YOURS, may_have_outputs
from scheduler.services.outputs import of_job, output_of, runs_of
from scheduler.views.job_frame import frame_of, head_context, job_seen
from workers.live import is_fragment, live_fragment, respond
from workers.refusals import NotFound

MOST_SHOWN = 1_000


def outputs(request: HttpRequest, job_id: str) -> HttpResponse:
    """The list; by itself for htmx, which asks again until all of it is here."""
    frame = frame_of(request.user, job_id)
    context = _context(request, frame.job)
    if is_fragment(request):
        return respond(request, page="", fragment="scheduler/_outputs.html", context=context)
    head, _ = live_fragment(request, "scheduler/_live.html", head_context(frame, request.user))
    listed, _ = live_fragment(request, "scheduler/_outputs.html", context)
    page = {**head_context(frame, request.user), "tab": "outputs", "live": head, "listed": listed}
    return render(request, "scheduler/job_outputs.html", page)


def download(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """One file, to be kept."""
    job = job_seen(request.user, job_id)
    if not may_have_outputs(request.user, job):
        raise PermissionDenied(NOT_YOURS)
    try:
        return as_attachment(output_of(job, number))
    except NotFound as error:
        raise Http404(str(error)) from error


def _context(request: HttpRequest, job: Job) -> dict[str, Any]:
    if not may_have_outputs(request.user, job):
        return {"job": job, "mine": False, "poll": ""}
    files, runs = list(of_job(job)[: MOST_SHOWN + 1]), runs_of(job)
    waited_for = not job.is_over or any(not task.outputs_complete for task in runs)
    return {
        "job": job, "mine": True, "files": files[:MOST_SHOWN], "more": len(files) > MOST_SHOWN, "runs": runs,
        "several": len({task.pk for task in runs}) > 1, "poll": "2s" if waited_for else "",
    }  # fmt: skip
