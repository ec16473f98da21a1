"""The pages of one job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.models import Job, Task
from scheduler.services.recorded import Recorded
from scheduler.views.candidates import rows as candidate_rows
from scheduler.views.decided import decided, decision_asked_for
from scheduler.views.job_frame import Frame, frame_of, head_context, without_output
from scheduler.views.job_pages import job_page
from scheduler.views.newer import NEWER, newer_context
from scheduler.views.placement import placement_context
from workers.live import GOOD_FOR, Still, is_fragment, respond


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
    tab, aside = request.GET.get("tab"), None
    if tab == "log":
        context = without_output(context)
    elif tab == "placement":
        context, aside = {**context, **newer_context(request, frame)}, NEWER
    live_piece = "scheduler/_live.html"
    is_alone = frame.task is not None and frame.job.started_at is not None and not frame.job.spec.get("distributed")
    return respond(
        request, page="scheduler/job.html", fragment=live_piece, context=context, aside=aside, good_for=GOOD_FOR,
        still=_as_it_was(frame.job, frame.task), alone=is_alone,
    )  # fmt: skip


def _as_it_was(job: Job, task: Task | None) -> Still | None:
    """Whether job and task are as they were and the output as long: what others do changes nothing where it runs."""
    if task is None:
        return None
    whose = {
        f"attempt__job__{name}": getattr(job, name)
        for name in ("state", "state_since", "decision_id", "hold_until", "cancel_requested_at", "name")
    }
    return Task.objects.filter(pk=task.pk, state=task.state, log_size=task.log_size, **whose).exists


def placement(request: HttpRequest, job_id: str) -> HttpResponse:
    """The Placement tab by itself, for a page that was opened before there was a decision."""
    frame = frame_of(request.user, job_id)
    if not is_fragment(request):
        return redirect("job", job_id)
    if frame.recorded is None and not frame.job.is_over:
        return HttpResponse(status=304)
    return render(request, "scheduler/_placement_arrives.html", placement_context(request, frame.job, frame.recorded))


def candidates(request: HttpRequest, job_id: str) -> HttpResponse:
    """The candidates of one decision, filtered; the whole page for anybody but htmx."""
    frame, rec = decided(request, job_id)
    if is_fragment(request):
        return candidate_rows(request, frame.job, rec)
    return _placement_page(request, frame, rec)


def _placement_page(request: HttpRequest, frame: Frame, rec: Recorded | None) -> HttpResponse:
    context = {"tab": "placement", **placement_context(request, frame.job, rec)}
    return job_page(request, frame, "scheduler/job.html", context, read=rec)
