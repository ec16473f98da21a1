"""The log of a job: a page that follows it, and the whole of it as a file."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from scheduler.models import Task
from scheduler.services.logs import read_bytes
from scheduler.views.job_frame import Frame, frame_of, head_context, without_output
from scheduler.views.log_window import Window, window
from workers.live import is_fragment, live_fragment, tagged

STREAMS = (("both", "Both"), ("stdout", "stdout"), ("stderr", "stderr"))
NOTHING = Window([], None, 0)


@require_GET
@login_required
def log(request: HttpRequest, job_id: str) -> HttpResponse:
    """The newest 1,000 lines, or those before a line; htmx gets only them, and 304 while nothing was added."""
    frame = frame_of(job_id)
    stream = request.GET.get("stream", "both")
    stream = stream if stream in dict(STREAMS) else "both"
    before = request.GET.get("before", "")
    number = int(before) if before.isdigit() and len(before) < 19 else None
    tag = f"{frame.job.state}-{frame.task.pk}-{frame.task.log_size}-{stream}" if frame.task else frame.job.state
    if is_fragment(request) and request.headers.get("HX-PTag") == tag:
        return tagged(HttpResponse(status=304), tag)
    context = {
        "tab": "log", "job": frame.job, "task": frame.task, "stream": stream, "streams": STREAMS, "before": number,
        "window": _shown(frame.task, stream, number), "log_size": frame.task.log_size if frame.task else 0,
        "poll_log": not frame.job.is_over and number is None, "ptag": tag,
    }  # fmt: skip
    if is_fragment(request):
        return tagged(render(request, "scheduler/_log.html", context), tag)
    return _page(request, frame, context)


@require_GET
@login_required
def log_text(request: HttpRequest, job_id: str) -> StreamingHttpResponse:
    """All that the program wrote, byte for byte, as a file."""
    task = frame_of(job_id).task
    if task is None:
        raise Http404("this job has not started, so it has no log")
    response = StreamingHttpResponse(read_bytes(task, offset=0), content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{job_id}.log"'
    return response


def _shown(task: Task | None, stream: str, before: int | None) -> Window:
    if task is None:
        return NOTHING
    found = window(task, before=before)
    if stream == "both":
        return found
    return Window([line for line in found.lines if line.stream == stream], found.before, found.size)


def _page(request: HttpRequest, frame: Frame, context: dict[str, object]) -> HttpResponse:
    head = without_output(head_context(frame, request.user))
    live, _ = live_fragment(request, "scheduler/_live.html", head)
    body, _ = live_fragment(request, "scheduler/_log.html", context)
    words = f"on {frame.task.worker.name}, attempt {frame.task.attempt.number}" if frame.task else "not started"
    return render(request, "scheduler/job_log.html", {**head, **context, "live": live, "log": body, "log_words": words})
