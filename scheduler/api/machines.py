"""Workers as a pass would see them now, and what runs on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Path, Query, Router

from scheduler import queries
from scheduler.api.wire import WorkerDetailOut, WorkersOut
from scheduler.api.wire_asked import WorkersAsked
from scheduler.core.codec import worker_to_document
from scheduler.core.fleet import WorkerView
from scheduler.models import Task
from scheduler.services.leaving import retire_worker
from scheduler.services.seen_fleet import as_seen, jobs_of
from scheduler.services.visibility import may_see, seen_ids, sees_all
from workers.api import IntentOut, actor_of
from workers.devices import device_boxes, free_count, summary
from workers.models import Intent, Worker
from workers.refusals import NotFound
from workers.services.offers import offer_of
from workers.wire import refusals

router = Router(tags=["workers"])


@router.get("workers", response={200: WorkersOut, **refusals()})
def list_workers(request: HttpRequest, asked: Query[WorkersAsked]) -> Any:
    """Live workers by name; `q` is part of a name."""
    page = queries.workers_page(q=asked.q, after=asked.after, limit=asked.limit)
    rows = _seen(page.rows, request.user)
    return {"items": [worker_document(row, request.user) for row in rows], "next": page.after}


@router.get("workers/{name}", response={200: WorkerDetailOut, **refusals(404)})
def get_worker(request: HttpRequest, name: Path[str]) -> Any:
    """One worker with its devices and its document."""
    found = queries.worker_row(name) if "\0" not in name else None
    if found is None:
        raise NotFound(f"no worker {name[:100]!r}", code="no_such_worker")
    (row,) = _seen([found], request.user)
    return {
        **worker_document(row, request.user),
        "devices": list(row.worker.devices.order_by("index", "pk")),
        "document": worker_to_document(row.view) if row.view else None,
        "unknown": row.worker.unknown,
        "offered": offer_of(row.worker),
    }


@router.post(
    "workers/{name}/retire", response={200: IntentOut, **refusals(403, 404, 409, body=True)}, tags=["operators"]
)
def retire(request: HttpRequest, name: Path[str]) -> Any:
    """Take a worker out for good, once nothing runs there any more; its name is free then. Operators may."""
    return retire_worker(name=name, actor=actor_of(request), now=timezone.now())


def worker_document(row: queries.WorkerRow, user: Any) -> dict[str, Any]:
    """A worker as it is shown to this user in lists."""
    worker, view = row.worker, row.view
    devices = view.facts.devices if view else None
    return {
        "name": worker.name,
        "origin": worker.origin,
        "simulated": worker.simulated,
        "state": _states(worker, view),
        "note": view.state_note if view else "",
        "last_seen_at": worker.last_seen_at,
        "gpus": summary(view) if view else "not reported yet",
        "gpus_free": free_count(device_boxes(view)) if view else 0,
        "gpus_total": len(devices) if devices is not None else None,
        "labels": dict(view.facts.labels) if view else {},
        "tasks": [_task(task, user) for task in row.tasks],
        "agent_version": worker.agent_version,
        "url": reverse("worker", args=[worker.name]),
    }


def _task(task: Task, user: Any) -> dict[str, Any]:
    job = task.attempt.job
    is_seen = may_see(user, job)
    return {
        "job_id": job.job_id if is_seen else "",
        "name": job.name if is_seen else "",
        "owner": job.owner.get_username() if is_seen else "",
        "state": task.state,
        "devices": task.devices,
    }


def _seen(rows: Sequence[queries.WorkerRow], user: Any) -> Sequence[queries.WorkerRow]:
    """The workers as a pass would see them, as this user may see them."""
    if sees_all(user):
        return rows
    seen = seen_ids(user, (job_id for row in rows if row.view for job_id in jobs_of(row.view)))
    return [replace(row, view=row.view and as_seen(row.view, seen)) for row in rows]


def _states(worker: Worker, view: WorkerView | None) -> list[str]:
    if view is None:
        return ["enrolled"]
    drained = "drained" if worker.intent == Intent.DRAINED else "draining"
    stated = ((drained, view.draining), ("unhealthy", view.unhealthy))
    return ["online" if view.online else "offline", *(name for name, so in stated if so)]
