"""What operators do with a worker from its page: each act asks first, says what it does, and works without scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from workers import services
from workers.live import is_fragment
from workers.models import Health, Worker
from workers.queries import live_workers
from workers.refusals import Refused


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its words, when it is offered, and what does it."""

    key: str
    button: str
    icon: str
    question: str
    text: str
    done: str
    do: Callable[..., Any]
    offered: Callable[[Worker], bool] = lambda worker: True
    danger: bool = False
    stays: bool = True
    """Its page is still there afterwards."""


ACTS: Mapping[str, Act] = {
    act.key: act
    for act in (
        Act(
            "trust", "Clear as healthy…", "circle-check", "Is {} well?",
            "It counts as healthy until something else is found, and failures of jobs so far count against it no more.",
            "{} counts as healthy.", services.trust, lambda worker: worker.health == Health.UNHEALTHY,
        ),
        Act(
            "rotate", "Replace credential…", "refresh", "Replace the credential of {}?",
            "Its agent asks for a new one at its next call and goes on with it; nothing is stopped. The old one works "
            "until the new one is first used.", "The agent of {} replaces its credential at its next call.",
            services.ask_to_rotate, lambda worker: bool(worker.credential and not worker.credential.fleet),
        ),
        Act(
            "revoke", "Revoke credential…", "lock", "Revoke the credential of {}?",
            "Its agent is let in no more: it ends what runs there, and goes. The devices are given to nobody until "
            "that is certain. To come back, the machine needs a new enrolment token.",
            "The credential of {} is revoked.", services.revoke, danger=True, stays=False,
        ),
    )
}  # fmt: skip
"""By key, in the order of the page."""


def offered(worker: Worker) -> list[Act]:
    """What can be done with the worker as it is."""
    return [act for act in ACTS.values() if act.offered(worker)]


def act(request: HttpRequest, name: str, key: str, tasks_on: Callable[[int], Sequence[Any]], **_: Any) -> HttpResponse:
    """Ask, then do it."""
    if key not in ACTS:
        raise Http404("no such act")
    return ask_and_do(request, name, ACTS[key], tasks_on)


def ask_and_do(
    request: HttpRequest, name: str, act: Act, tasks_on: Callable[[int], Sequence[Any]],
    panel: Callable[[], str] = str,
) -> HttpResponse:  # fmt: skip
    """The question with what runs there and, as `panel`, what it would mean; a POST is the answer yes."""
    worker = get_object_or_404(live_workers(), name=name)
    if request.method == "POST":
        return _done(request, name, act)
    template = "workers/_act.html" if is_fragment(request) else "workers/act.html"
    context = {
        "nav": "workers", "worker": worker, "act": act, "question": act.question.format(name),
        "tasks": tasks_on(worker.pk), "panel": panel(),
    }  # fmt: skip
    return render(request, template, context)


def _done(request: HttpRequest, name: str, act: Act) -> HttpResponse:
    try:
        act.do(name=name, actor=f"user:{request.user.get_username()}", now=timezone.now())
    except Refused as refusal:
        messages.error(request, refusal.detail)
        return redirect("worker", name)
    messages.success(request, act.done.format(name))
    return redirect("worker", name) if act.stays else redirect("workers")
