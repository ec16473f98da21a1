"""Beside a log: the devices of that run as they are now, and the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from scheduler.models import Job, Task, TaskState
from scheduler.models.attempts import TASK_UNFINISHED
from scheduler.services.job_use import environment_on, facts_of, read_at, use_of
from scheduler.services.log_tasks import logs_of
from scheduler.views.job_frame import job_seen
from scheduler.views.log_place import place_of
from workers.live import is_fragment, respond
from workers.moments import clock, duration, now

Line = tuple[str, str, str]
"""Name, words, and `mono` for what is copied."""


def use(request: HttpRequest, job_id: str) -> HttpResponse:
    """The devices of one task, which the log page asks for again and again; its page for everybody but htmx."""
    job = job_seen(request.user, job_id)
    place = place_of(request.GET)
    if not is_fragment(request):
        return redirect("job-log", job_id)
    task = logs_of(job, attempt=place.attempt, rank=place.rank).task
    if task is None:
        raise Http404("this job has no such attempt and rank")
    return respond(request, page="", fragment="scheduler/_use.html", context=use_context(job, task))


def use_context(job: Job, task: Task | None) -> dict[str, Any]:
    """What `_use.html` shows; nothing of a task that holds no device."""
    uses = use_of(task) if task and task.state in TASK_UNFINISHED and task.devices else ()
    lost = task is not None and task.state == TaskState.UNKNOWN
    return {
        "job": job,
        "task": task,
        "uses": uses,
        "use_title": "Its devices, last known" if lost else "Its devices now",
        "use_read_at": read_at(uses),
        "use_query": f"attempt={task.attempt.number}&rank={task.rank}" if task else "",
        "use_poll": bool(uses),
    }


def run_lines(job: Job, task: Task | None) -> list[Line]:
    """What `_this_run.html` shows of one task."""
    return list(_lines(job, task)) if task else []


def _lines(job: Job, task: Task) -> Iterator[Line]:
    at = now()
    if task.state == TaskState.UNKNOWN and task.worker.last_seen_at:
        silent = duration((at - task.worker.last_seen_at).total_seconds(), coarse=True)
        yield "Last heartbeat", f"{clock(task.worker.last_seen_at, now=at)}, {silent} ago", ""
    most = int((job.spec.get("retries") or {}).get("max", 0)) + 1
    if task.started_at:
        yield "Started", f"{clock(task.started_at, now=at)}, attempt {task.attempt.number:,} of {most:,}", ""
    if task.finished_at:
        yield "Ended", clock(task.finished_at, now=at), ""
    limit = job.spec.get("timeout_s")
    if limit and task.started_at and not task.finished_at:
        end = clock(task.started_at + timedelta(seconds=int(limit)), now=at)
        yield "Ends at the latest", f"{end} (time limit {duration(int(limit))}), also without the server", ""
    if task.workdir:
        yield "Working directory", task.workdir, "mono"
    yield from _python(job, task)
    yield from _visible(task)
    if task.pid:
        yield "Process", f"pid {task.pid}", ""


def _python(job: Job, task: Task) -> Iterator[Line]:
    name = (job.spec.get("runtime") or {}).get("environment") or "default"
    found = environment_on(task, name)
    version = f"{found.python}, " if found and found.python else ""
    yield "Python", f"{version}environment {name}", ""


def _visible(task: Task) -> Iterator[Line]:
    facts = facts_of(task)
    uuids = {device.index: device.uuid for device in (facts.devices if facts else None) or ()}
    if task.devices:
        yield (
            "Devices",
            "CUDA_VISIBLE_DEVICES=" + ",".join(uuids.get(index) or str(index) for index in task.devices),
            "mono",
        )
