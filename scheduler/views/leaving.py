"""The page on which an operator takes a worker out for good."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from scheduler.services.leaving import retire_worker
from scheduler.services.seen_fleet import tasks_on
from scheduler.views.whatif import panel
from workers.proposed import Change
from workers.views_acts import Act, ask_and_do

RETIRE = Act(
    "retire", "Retire…", "trash", "Retire {}?",
    "It leaves for good: its agent is let in no more, and its name is free. What it ran stays on record. While it runs "
    "anything it cannot be retired; drain it first.",
    "{} is retired.", retire_worker, danger=True, stays=False,
)  # fmt: skip


def retire(request: HttpRequest, name: str) -> HttpResponse:
    """Ask, then do it."""
    change = Change(workers=(name,), retire=True)
    return ask_and_do(request, name, RETIRE, tasks_on, lambda: panel(request, change))
