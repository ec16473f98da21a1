"""Devices that a person holds: how to get at them, what runs on them, and holding them longer."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from scheduler.core import explain
from scheduler.core.quantities import size
from scheduler.models import Job, Task
from scheduler.services import hold_limits, holds
from scheduler.services.job_use import Use, read_at, use_of
from scheduler.services.jobs import NOT_YOURS, may_change
from scheduler.services.recorded import Recorded
from scheduler.services.waiters import waiters_for
from scheduler.views.job_answer import in_my_zone
from scheduler.views.job_frame import Frame, frame_of, head_context, job_seen
from workers.live import is_fragment, live_fragment, respond
from workers.moments import clock, duration, minute, now
from workers.refusals import Refused

LONGER_BY = (1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 24 * 3600)
"""Seconds that the page offers."""


def devices(request: HttpRequest, job_id: str) -> HttpResponse:
    """How to use what is held; by itself for htmx, which asks for it again and again."""
    frame = frame_of(request.user, job_id)
    if holds.seconds_asked(frame.job) is None:
        raise Http404("this job holds no devices for a person")
    context = _held_context(request, frame)
    if is_fragment(request):
        return respond(request, page="", fragment="scheduler/_held.html", context=context)
    head, _ = live_fragment(request, "scheduler/_live.html", head_context(frame, request.user))
    held, _ = live_fragment(request, "scheduler/_held.html", context)
    page = {**head_context(frame, request.user), "tab": "devices", "live": head, "held": held}
    return render(request, "scheduler/job_devices.html", page)


def extend(request: HttpRequest, job_id: str) -> HttpResponse:
    """Ask how much longer, then do it."""
    job = job_seen(request.user, job_id)
    if not may_change(request.user, job):
        raise PermissionDenied(NOT_YOURS)
    if request.method == "POST":
        return _extended(request, job)
    template = "scheduler/_ask.html" if is_fragment(request) else "scheduler/ask.html"
    until = job.hold_until
    limit = hold_limits.limit_of(job, now=now(), clock=in_my_zone) if until else None
    left = (limit.until - until).total_seconds() if limit and until else 0
    choices = [(seconds, duration(seconds)) for seconds in LONGER_BY if seconds <= left]
    context = {
        "nav": "jobs", "job": job, "act": {"asks": "scheduler/_extend_form.html", "verb": "Extend"}, "choices": choices,
        "limit": limit, "latest": limit and minute(limit.until, now=now()), "until": until and minute(until, now=now()),
    }  # fmt: skip
    return render(request, template, context)


def _extended(request: HttpRequest, job: Job) -> HttpResponse:
    seconds = request.POST.get("seconds", "")
    chosen = int(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 9 else 0
    try:
        if chosen not in LONGER_BY:
            raise Refused("invalid", "how much longer was not one of the choices")
        after = holds.extend_hold(
            job=job, seconds=chosen, actor=f"user:{request.user.get_username()}", now=now()
        )  # fmt: skip
    except Refused as refusal:
        messages.error(request, f"Not done: {refusal.detail}.")
    else:
        assert after.hold_until is not None
        messages.info(request, f"{job.job_id} is held until {minute(after.hold_until, now=now())}.")
    return redirect("job-devices", job.job_id)


def _held_context(request: HttpRequest, frame: Frame) -> dict[str, Any]:
    job = frame.job
    mine, held = may_change(request.user, job), holds.is_held(job)
    uses = [(task, use_of(task)) for task in frame.tasks] if held else []
    rec = frame.recorded
    return {
        "job": job, "mine": mine, "access": holds.access(job) if mine else [], "held": held,
        "poll": "" if job.is_over else "5s", "rows": [_row(task, use) for task, found in uses for use in found],
        "several": len(uses) > 1, "read_at": max((at for _, found in uses if (at := read_at(found))), default=None),
        "until": minute(job.hold_until, now=now()) if job.hold_until else "",
        "asked": duration(holds.seconds_asked(job) or 0),
        "waiters": waiters_for(job, frame.tasks, user=request.user) if held else None,
        "why_there": _why_there(rec) if rec and rec.decision.assignments else (),
        "recorded": rec, "known": len(rec.fleet.workers) if rec else 0,
    }  # fmt: skip


def _why_there(rec: Recorded) -> list[tuple[str, str]]:
    """Why these devices: the policy, and how many were free."""
    said = explain.answer(rec.entry, rec.decision, state="running", clock=in_my_zone)
    decided = f"{clock(rec.row.made_at, now=now())}, pass {rec.row.pass_row.number:,}"
    return [
        ("Policy", rec.entry.spec.policy),
        ("Decided", decided),
        ("Why", said.lead),
        ("Of", " ".join(said.more[:1])),
    ]


def _row(task: Task, use: Use) -> dict[str, Any]:
    """One held device with its latest reading."""
    device = use.device
    used = "" if device.memory_used is None else size(device.memory_used)
    return {
        "device": device, "worker": task.worker.name, "idle_since": use.idle_since,
        "memory": f"{used} of {size(use.memory)}" if used and use.memory else used,
        "processes": [_process_words(each) for each in device.processes],
    }  # fmt: skip


def _process_words(process: dict[str, Any]) -> str:
    user = process.get("user") or "an unknown user"
    used = process.get("memory")
    return f"{process.get('pid')}, {user}" + (f", {size(used)}" if isinstance(used, int) else "")
