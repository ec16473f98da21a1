"""The page on which an operator takes a worker out for good."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse

from scheduler.services.leaving import retire_worker, retire_workers
from scheduler.services.seen_fleet import tasks_on
from scheduler.views.whatif import panel
from workers.asked import Asked
from workers.picking import Picked
from workers.proposed import Change
from workers.views_acts import Act, ask_and_do
from workers.views_fleet import Form, actor_of, of_many

RETIRE = Act(
    "retire", "Retire…", "trash", "Retire {}?",
    "It leaves for good: its agent is let in no more, and its name is free. What it ran stays on record. While it runs "
    "anything it cannot be retired; drain it first.",
    "{} is retired.", retire_worker, danger=True, stays=False,
)  # fmt: skip


def _retire_all(picked: Picked, said: Asked, request: HttpRequest, now: datetime) -> str:
    retire_workers(names=picked.names, actor=actor_of(request), now=now)
    return f"{picked.words} {'is' if len(picked.ids) == 1 else 'are'} retired."


RETIRE_MANY = Form("retire", "Retire {}?", "Retire {}", "workers/_fields_retire.html", _retire_all, True, leaves=True)


def retire_many(request: HttpRequest) -> HttpResponse:
    """The same for those that were picked in the list: all of them, or none."""
    return of_many(request, RETIRE_MANY, panel, tasks_on)


def retire(request: HttpRequest, name: str) -> HttpResponse:
    """Ask, then do it."""
    change = Change(workers=(name,), retire=True)
    return ask_and_do(request, name, RETIRE, tasks_on, lambda: panel(request, change))
