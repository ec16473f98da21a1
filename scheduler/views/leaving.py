"""The page on which an operator takes a worker out for good."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from scheduler.occupancy import tasks_on
from scheduler.services.leaving import retire_worker
from workers.views_acts import Act, ask_and_do

RETIRE = Act(
    "retire", "Retire…", "trash", "Retire {}?",
    "It leaves for good: its agent is let in no more, and its name is free. What it ran stays on record. While it runs "
    "anything it cannot be retired; drain it first.",
    "{} is retired.", retire_worker, danger=True, stays=False,
)  # fmt: skip


@require_http_methods(["GET", "POST"])
@login_required
def retire(request: HttpRequest, name: str) -> HttpResponse:
    """Ask, then do it."""
    return ask_and_do(request, name, RETIRE, tasks_on)
