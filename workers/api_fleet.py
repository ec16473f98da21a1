"""Labels and limits of workers over HTTP, of one or of many."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router
from pydantic import Field

from workers import services
from workers.api import DrainIn, actor_of
from workers.models import Worker
from workers.services.limits import limits_of
from workers.services.operator_labels import SaidLabel, labels_of
from workers.wire import MAX_NAME, Answer, Body, Name, refusals

router = Router(tags=["operators"])

MOST_LABELS = 1_000
MOST_WORKERS = 10_000
Text = Annotated[str, Field(max_length=MAX_NAME)]
Labels = Annotated[dict[Text, Text], Field(max_length=MOST_LABELS)]
Keys = Annotated[list[Text], Field(max_length=MOST_LABELS)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MOST_WORKERS)]


class LabelsIn(Body):
    """`labels` are set by the operator, over what the agent says; of `remove` the agent's count again."""

    labels: Labels = {}
    remove: Keys = []


class ManyLabelsIn(LabelsIn):
    """The same for all of these workers, or for none of them."""

    workers: Names


class ManyIn(Body):
    """All of these workers, or none of them."""

    workers: Names


class ManyDrainsIn(DrainIn):
    """The same for all of these workers, or for none of them."""

    workers: Names


class LabelOut(Answer):
    """One label that counts. `source`: who says so; `agents_value`: what the agent says, where an operator counts."""

    key: str
    value: str
    source: str
    agents_value: str | None
    set_by: str
    read_only: bool


class LabelsOut(Answer):
    """By key."""

    name: str
    items: list[LabelOut]


class ChangedOut(Answer):
    """The workers of which something changed."""

    changed: list[str]


class LimitsIn(Body):
    """A number is set by the operator; null: what the agent says counts again; left out: it stays as it is."""

    max_concurrent_tasks: Annotated[int, Field(ge=0, le=100_000)] | None = None
    foreign_allowance_bytes: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None


class LimitOut(Answer):
    """What counts, in words, beside what the agent says."""

    name: str
    value: str
    by_operator: bool
    agents: str


class LimitsOut(Answer):
    """All limits of the worker; `limits` are those that operators set."""

    name: str
    limits: dict[str, int]
    items: list[LimitOut]


@router.get("workers/{name}/labels", response={200: LabelsOut, **refusals(404)})
def get_labels(request: HttpRequest, name: Path[str]) -> Any:
    """The labels of a worker, and who says so."""
    return _labels(services.live_worker(name))


@router.post("workers/{name}/labels", response={200: LabelsOut, **refusals(403, 404, body=True)})
def change_labels(request: HttpRequest, name: Path[str], payload: LabelsIn) -> Any:
    """Set and take off an operator's labels. Operators may."""
    worker = services.live_worker(name)
    _change([worker], payload, request)
    return _labels(worker)


@router.post("worker-labels", response={200: ChangedOut, **refusals(403, 404, body=True)})
def change_many_labels(request: HttpRequest, payload: ManyLabelsIn) -> Any:
    """The same for many workers at once. Operators may."""
    workers = services.live_workers_named(payload.workers)
    changed = set(_change(workers, payload, request))
    return {"changed": [worker.name for worker in workers if worker.pk in changed]}


@router.post("worker-drains", response={200: ChangedOut, **refusals(403, 404, body=True)})
def drain_many(request: HttpRequest, payload: ManyDrainsIn) -> Any:
    """Give all of these workers no more work. Operators may."""
    workers = services.live_workers_named(payload.workers)
    ids, more = [worker.pk for worker in workers], payload.model_dump(exclude={"workers"})
    changed = set(services.drain_all(ids, actor=actor_of(request), now=timezone.now(), **more))
    return {"changed": [worker.name for worker in workers if worker.pk in changed]}


@router.post("worker-undrains", response={200: ChangedOut, **refusals(403, 404, body=True)})
def undrain_many(request: HttpRequest, payload: ManyIn) -> Any:
    """Let all of these workers have work again. Operators may."""
    workers = services.live_workers_named(payload.workers)
    changed = set(services.undrain_all([worker.pk for worker in workers], actor=actor_of(request), now=timezone.now()))
    return {"changed": [worker.name for worker in workers if worker.pk in changed]}


@router.get("workers/{name}/limits", response={200: LimitsOut, **refusals(404)})
def get_limits(request: HttpRequest, name: Path[str]) -> Any:
    """What operators set over the agent's word."""
    return _limits(services.live_worker(name))


@router.post("workers/{name}/limits", response={200: LimitsOut, **refusals(403, 404, body=True)})
def change_limits(request: HttpRequest, name: Path[str], payload: LimitsIn) -> Any:
    """Set limits over the agent's word, or leave them to it again. Operators may."""
    wanted = payload.model_dump(exclude_unset=True)
    worker = services.live_worker(name)
    services.set_limits([worker.pk], limits=wanted, actor=actor_of(request), now=timezone.now())
    return _limits(services.live_worker(name))


def _change(workers: list[Worker], payload: LabelsIn, request: HttpRequest) -> list[int]:
    return services.change_labels(
        [worker.pk for worker in workers], labels=payload.labels, removed=payload.remove, actor=actor_of(request),
        now=timezone.now(), created_by=request.user,
    )  # fmt: skip


def _labels(worker: Worker) -> dict[str, Any]:
    return {"name": worker.name, "items": [_label(label) for label in labels_of(worker)]}


def _label(label: SaidLabel) -> dict[str, Any]:
    return {
        "key": label.key, "value": label.value, "source": "operator" if label.by_operator else "agent",
        "agents_value": label.agents_value if label.by_operator else None, "set_by": label.set_by,
        "read_only": label.is_system,
    }  # fmt: skip


def _limits(worker: Worker) -> dict[str, Any]:
    return {"name": worker.name, "limits": worker.limits, "items": limits_of(worker)}
