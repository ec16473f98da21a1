"""Pages about machines. What runs on them is known elsewhere and comes in as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler.core.fleet import WorkerView
from scheduler.core.spec import Origin
from workers.happened import lately
from workers.live import GOOD_FOR, READ_AGAIN, is_fragment, respond
from workers.models import Worker
from workers.paging import asked_of, by_key, link
from workers.picking import FILTERS
from workers.queries import FREE, SORTS, STATES, found_workers, in_order, live_workers, state_counts
from workers.roles import is_operator
from workers.rows import WorkerRow
from workers.rows_devices import Devices
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

Ahead = Callable[[HttpRequest, Worker, Sequence[int], Sequence[Any]], SafeString]
"""The panel of who has which of a worker's devices over the next day."""
NotHere = Callable[[HttpRequest, str], SafeString]
"""The panel that says why waiting jobs are not on the worker of this name."""
ToldTo = Callable[[Any, str], str]
"""A sentence as a user may read it."""

SeesJob = Callable[[Any, str], bool]
"""Whether this is the id of a job that this user sees."""

FILTER_WORDS = {"q": "the words", "state": "the state", "tier": "the tier", "free": "the free devices"}
"""What each filter is called where it hides everything."""
BULK = (("labels", "Labels…"), ("drain", "Drain…"), ("undrain", "Undrain…"), ("retire", "Retire…"))
"""What can be done with many at once."""


def worker_list(request: HttpRequest, views_of: ViewsOf, sees_job: SeesJob, **_: Any) -> HttpResponse:
    """Every worker with its devices, a page at a time."""
    asked = asked_of(request.GET, (*FILTERS, "sort"))
    filters = {name: asked.get(name, "") for name in FILTERS}
    sort = asked.get("sort", "") if asked.get("sort") in SORTS else "name"
    jobs_too = sees_job(request.user, filters["q"])
    found, order = in_order(found_workers(**filters, jobs_too=jobs_too), sort)
    page = by_key(found, asked=asked, **order)
    views = views_of([worker.name for worker in page.rows], request.user)
    context = {
        "nav": "workers",
        "page": page.map(lambda worker: WorkerRow(worker, views.get(worker.name))),
        "base": reverse("workers"),
        "tabs": _tabs(filters, sort),
        "state": filters["state"] if filters["state"] in STATES else "all",
        "filters": filters,
        "filtered": any(filters.values()),
        "hides": () if page.rows else list(_hides(filters, jobs_too=jobs_too)),
        "tiers": list(Origin),
        "free": FREE,
        "sort": sort,
        "sorts": SORTS,
        "query": link(asked),
        "matching": link(filters),
        "bulk": [(reverse(f"fleet-{kind}"), text) for kind, text in BULK],
        "worker_command": start_command(request),
    }
    return respond(
        request, page="workers/workers.html", fragment="workers/_rows.html", aside="_partials/_state_tabs.html",
        context=context, good_for=GOOD_FOR,
    )  # fmt: skip


def _tabs(filters: Mapping[str, str], sort: str) -> list[dict[str, str]]:
    """Every state that anybody is in, and all."""
    counts, kept = state_counts(), {**filters, "sort": sort if sort != "name" else ""}
    return [
        {"key": key, "text": text, "count": f"{counts[key]:,}", "link": link(kept, state=key)}
        for key, (text, _) in STATES.items()
        if counts[key] or key in ("all", filters["state"])
    ]


def _hides(filters: Mapping[str, str], *, jobs_too: bool) -> Iterable[tuple[str, int, str]]:
    """Each filter that hides workers: what it is called, how many match without it, and the link without it."""
    for name, words in FILTER_WORDS.items():
        if filters[name]:
            number = found_workers(**{**filters, name: ""}, jobs_too=jobs_too).count()
            if number:
                yield words, number, link(filters, **{name: ""})


def worker(
    request: HttpRequest, name: str, views_of: ViewsOf, tasks_on: TasksOn, told_to: ToldTo, ahead: Ahead,
    not_here: NotHere, **_: Any,
) -> HttpResponse:  # fmt: skip
    """One worker: its devices and who holds them, what it has, and what nobody knows of it."""
    found = get_object_or_404(live_workers().select_related("facts", "credential"), name=name)
    row = WorkerRow(found, views_of([name], request.user).get(name))
    tasks = tasks_on(found.pk, request.user)
    context = {
        "nav": "workers",
        "row": row,
        "tasks": tasks,
        "devices": Devices(row, found, tasks),
        "ahead": ahead(request, found, [box.index for box in row.boxes], tasks),
        "not_here": "" if is_fragment(request) else not_here(request, found.name),
        "offer": offer_of(found),
        "lately": lately(found.name, partial(told_to, request.user)),
        "labels": labels_of(found),
        **(_for_operators(found) if is_operator(request.user) else {}),
    }
    return respond(
        request, page="workers/worker.html", fragment="workers/_worker.html", context=context, good_for=READ_AGAIN
    )


def _for_operators(worker: Worker) -> dict[str, Any]:
    """What can be done with it, and whether somebody imitates it."""
    return {"acts": offered(worker), "conflict": conflicts(worker, now=timezone.now())}
