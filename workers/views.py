"""Pages about machines. What runs on them is known elsewhere and comes in as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from scheduler.core.fleet import WorkerView
from scheduler.core.spec import Origin
from workers.happened import lately
from workers.live import respond
from workers.models import Worker
from workers.paging import asked_of, by_key, link
from workers.picking import FILTERS
from workers.queries import STATES, found_workers, live_workers, state_counts
from workers.roles import is_operator
from workers.rows import WorkerRow
from workers.rows_devices import device_rows
from workers.services import conflicts
from workers.services.offers import offer_of
from workers.services.operator_labels import labels_of
from workers.views_acts import offered
from workers.views_enrol import start_command

ViewsOf = Callable[[Sequence[str], Any], Mapping[str, WorkerView]]
"""Workers by name as a pass would see them now, as a user may see them; those it would not see are left out."""
TasksOn = Callable[..., Sequence[Any]]
"""The tasks on a worker, by its key, as a user may see them; all of them where no user is named, as for operators:
each with `job_id`, `name`, `owner`, `devices`, `since`, `state`."""

ToldTo = Callable[[Any, str], str]
"""A sentence as a user may read it."""

BULK = (("labels", "Labels…"), ("drain", "Drain…"), ("undrain", "Undrain…"), ("retire", "Retire…"))
"""What can be done with many at once."""


def worker_list(request: HttpRequest, views_of: ViewsOf, **_: Any) -> HttpResponse:
    """Every worker with its devices, a page at a time."""
    asked = asked_of(request.GET, FILTERS)
    filters = {name: asked.get(name, "") for name in FILTERS}
    page = by_key(found_workers(**filters), "name", asked)
    views = views_of([worker.name for worker in page.rows], request.user)
    context = {
        "nav": "workers",
        "page": page.map(lambda worker: WorkerRow(worker, views.get(worker.name))),
        "base": reverse("workers"),
        "tabs": _tabs(filters),
        "state": filters["state"] if filters["state"] in STATES else "all",
        "filters": filters,
        "filtered": any(filters.values()),
        "tiers": list(Origin),
        "query": link(asked),
        "matching": link(filters),
        "bulk": [(reverse(f"fleet-{kind}"), text) for kind, text in BULK],
        "worker_command": start_command(request),
    }
    return respond(
        request, page="workers/workers.html", fragment="workers/_rows.html", aside="_partials/_state_tabs.html",
        context=context,
    )  # fmt: skip


def _tabs(filters: Mapping[str, str]) -> list[dict[str, str]]:
    """Every state that anybody is in, and all."""
    counts = state_counts()
    return [
        {"key": key, "text": text, "count": f"{counts[key]:,}", "link": link(filters, state=key)}
        for key, (text, _) in STATES.items()
        if counts[key] or key in ("all", filters["state"])
    ]


def worker(
    request: HttpRequest, name: str, views_of: ViewsOf, tasks_on: TasksOn, told_to: ToldTo, **_: Any
) -> HttpResponse:
    """One worker: its devices and who holds them, what it has, and what nobody knows of it."""
    found = get_object_or_404(live_workers().select_related("facts", "credential"), name=name)
    row = WorkerRow(found, views_of([name], request.user).get(name))
    tasks = tasks_on(found.pk, request.user)
    context = {
        "nav": "workers",
        "row": row,
        "tasks": tasks,
        "devices": device_rows(row, found.devices.order_by("index", "-present"), tasks),
        "offer": offer_of(found),
        "lately": lately(found.name, partial(told_to, request.user)),
        "labels": labels_of(found),
        **(_for_operators(found) if is_operator(request.user) else {}),
    }
    return respond(request, page="workers/worker.html", fragment="workers/_worker.html", context=context)


def _for_operators(worker: Worker) -> dict[str, Any]:
    """What can be done with it, and whether somebody imitates it."""
    return {"acts": offered(worker), "conflict": conflicts(worker, now=timezone.now())}
