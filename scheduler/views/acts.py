"""What people do with a job from its page and from the list; what destroys something asks first."""

from __future__ import annotations

import re

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from scheduler.core.errors import DocumentError
from scheduler.models import Job
from scheduler.services.contact import lost_since
from scheduler.services.copies import retry_job
from scheduler.services.jobs import NOT_YOURS, KeyReusedError, may_change
from scheduler.views.act_table import ACTS, Act
from scheduler.views.job_frame import frame_of
from workers.live import is_fragment
from workers.moments import now
from workers.refusals import Refused


def act(request: HttpRequest, job_id: str, key: str) -> HttpResponse:
    """Ask where it destroys something, then do it."""
    if key not in ACTS:
        raise Http404("no such act")
    frame, chosen = frame_of(request.user, job_id), ACTS[key]
    if not may_change(request.user, frame.job):
        raise PermissionDenied(NOT_YOURS)
    if request.method == "POST":
        return _done(request, frame.job, chosen)
    if not chosen.asks:
        return redirect("job", job_id)
    template = "scheduler/_ask.html" if is_fragment(request) else "scheduler/ask.html"
    context = {"nav": "jobs", "job": frame.job, "task": frame.task, "act": chosen, "since": lost_since(frame.job)}
    return render(request, template, context)


def _done(request: HttpRequest, job: Job, chosen: Act) -> HttpResponse:
    before, once = job.job_id, {}
    if chosen.do is retry_job:
        once = {"idempotency_key": _once(request, job)}
    try:
        after = chosen.do(job=job, actor=f"user:{request.user.get_username()}", now=now(), **once)
    except KeyReusedError:
        messages.error(request, "Not done: this page was used for another retry; load it again.")
        return redirect("job", before)
    except Refused as refusal:
        messages.error(request, f"Not done: {refusal.detail}.")
        return redirect("job", before)
    except DocumentError as error:
        told = "; ".join(f"{each.path}: found {each.found}; expected {each.expected}" for each in error.problems)
        messages.error(request, f"Not done: {told}.")
        return redirect("job", before)
    messages.info(request, _told(before, after))
    if after is not None and after.job_id != before:
        return redirect("job", after.job_id)
    return redirect(_back(request) or (reverse("jobs") if after is None else reverse("job", args=[before])))


def _once(request: HttpRequest, job: Job) -> str | None:
    """Names the page that a retry is asked for from: a second click on it leads to the first one's job."""
    token = request.POST.get("once", "")
    return f"retry {job.job_id} {token}" if re.fullmatch(r"[\w-]{16,64}", token, re.ASCII) else None


def _told(before: str, after: Job | None) -> str:
    if after is None:
        return f"{before} is deleted."
    if after.job_id != before:
        return f"{after.job_id} is a retry of {before}."
    return f"{before} is {after.get_state_display().lower()}."


def _back(request: HttpRequest) -> str:
    """The list from which it was asked, if it was one of ours."""
    back = request.POST.get("back", "")
    ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return back if ours and back.startswith("/jobs") else ""
