"""The logs of a job: a page that follows them, searches them, and gives them as files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from scheduler.log_download import as_text, file_name
from scheduler.models import Job, Task
from scheduler.services.log_tasks import Logs, logs_of
from scheduler.views.job_frame import Frame, frame_of, head_context, job_seen, without_output
from scheduler.views.job_run import run_lines, use_context
from scheduler.views.log_notices import notices
from scheduler.views.log_place import Place, attempts, place_of, ranks, streams
from scheduler.views.log_search import search
from scheduler.views.log_window import Window, window
from workers.live import is_fragment, live_fragment, tagged

NOTHING = Window([], None, None, 0)


def log(request: HttpRequest, job_id: str) -> HttpResponse:
    """The newest 1,000 lines, or those before a line; htmx gets only them, and 304 while nothing was added."""
    frame = frame_of(request.user, job_id)
    place = place_of(request.GET)
    logs = _found(frame.job, place)
    tag = _tag(frame.job, logs.task)
    if is_fragment(request) and request.headers.get("HX-PTag") == tag:
        return tagged(HttpResponse(status=304), tag)
    context = {"tab": "log", "job": frame.job, "ptag": tag, **log_context(frame.job, logs, place)}
    if is_fragment(request):
        return tagged(render(request, "scheduler/_log.html", context), tag)
    return _page(request, frame, logs, context)


def log_text(request: HttpRequest, job_id: str) -> HttpResponse | StreamingHttpResponse:
    """All that the program wrote to one stream or to both, byte for byte, as a file."""
    job = job_seen(request.user, job_id)
    place = place_of(request.GET)
    task = _found(job, place).task
    if task is None:
        raise Http404("this job has not started, so it has no log")
    if task.log_deleted_at:
        raise Http404(f"this log was removed at {task.log_deleted_at:%Y-%m-%d %H:%M} UTC")
    return as_text(job, task, stream=place.stream)


def log_context(job: Job, logs: Logs, place: Place) -> dict[str, Any]:
    """What `_log.html` shows."""
    task = logs.task
    shown = window(task, before=place.before, stream=place.stream) if task and not place.search else NOTHING
    going_on = task.attempt.active if task else not job.is_over
    return {
        "task": task,
        "place": place,
        "window": shown,
        "newest_line": shown.lines[-1].number if shown.lines and shown.after is None else None,
        "limit": settings.GPULAYER_LOG_LIMIT_BYTES,
        "notices": notices(task) if task else (),
        "poll_log": going_on and place == place.newest,
        "earlier": replace(place, before=shown.before).query if shown.before else "",
        "later": replace(place, before=shown.after).query if shown.after else "",
        **_searched(task, place),
    }


def _searched(task: Task | None, place: Place) -> dict[str, Any]:
    """The lines that have what is searched for, each with the address at which it stands among its neighbours."""
    if task is None or not place.search:
        return {"hits": None}
    found = search(task, place.search, stream=place.stream, page=place.page)
    return {
        "hits": [(line, place.line(line.number)) for line in found.lines],
        "search_on": replace(place, page=found.next).query if found.next is not None else "",
    }


def _found(job: Job, place: Place) -> Logs:
    logs = logs_of(job, attempt=place.attempt, rank=place.rank)
    if logs.task is None and (place.attempt is not None or place.rank):
        raise Http404("this job has no such attempt and rank")
    return logs


def _tag(job: Job, task: Task | None) -> str:
    """Changes with everything that the fragment shows."""
    if task is None:
        return job.state
    return f"{job.state}-{task.pk}-{task.state}-{task.log_size}-{int(task.log_cut)}-{int(bool(task.log_deleted_at))}"


def _page(request: HttpRequest, frame: Frame, logs: Logs, context: dict[str, Any]) -> HttpResponse:
    head = without_output(head_context(frame, request.user))
    live, _ = live_fragment(request, "scheduler/_live.html", head)
    body, _ = live_fragment(request, "scheduler/_log.html", context)
    use, _ = live_fragment(request, "scheduler/_use.html", use_context(frame.job, logs.task))
    place: Place = context["place"]
    around = {
        "use": use,
        "run_lines": run_lines(frame.job, logs.task),
        "live": live,
        "log": body,
        "log_words": _words(logs),
        "streams": streams(place),
        "attempts": attempts(place, logs),
        "ranks": ranks(place, logs),
        "downloads": _downloads(frame.job, logs.task, place),
    }
    return render(request, "scheduler/job_log.html", {**head, **context, **around})


def _downloads(job: Job, task: Task | None, place: Place) -> list[tuple[str, str, str]]:
    """Query, file name and words of each file that there is."""
    if task is None or task.log_deleted_at:
        return []
    return [
        (replace(place.newest, stream=stream).query, file_name(job, task, stream), words)
        for stream, words in (("both", "Both, as they came"), ("stdout", "Only stdout"), ("stderr", "Only stderr"))
    ]


def _words(logs: Logs) -> str:
    task = logs.task
    if task is None:
        return "not started"
    attempt = f"attempt {task.attempt.number}" + ("" if logs.newest else f" of {logs.attempts[0].number}")
    rank = f"rank {task.rank} " if len(logs.ranks) > 1 else ""
    return f"{rank}on {task.worker.name}, {attempt}"
