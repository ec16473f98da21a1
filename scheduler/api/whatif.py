"""What a change to workers would mean for the jobs that wait, over HTTP. Nothing is saved."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router
from pydantic import Field

from scheduler.core.errors import Problem
from scheduler.core.fleet import Window
from scheduler.core.holders import HOLDER, holder
from scheduler.core.reading import quoted
from scheduler.services.whatif import Preview, preview
from workers import services
from workers.api_fleet import MOST_WORKERS, Keys, Labels, LimitsIn
from workers.proposed import Change
from workers.refusals import Refused
from workers.services.operator_labels import read_labels
from workers.wire import Answer, Body, Id, Instant, Line, Name, refusals

router = Router(tags=["operators"])

MOST_RESERVATIONS = 100
Index = Annotated[int, Field(ge=0, le=100_000)]


class WindowIn(Body):
    """A reservation as it would be made. No devices: the whole worker."""

    worker: Name
    holder: Annotated[Line, Field(min_length=1, max_length=300)]
    devices: Annotated[list[Index], Field(max_length=1_000)] = []
    starts_at: Instant | None = None
    ends_at: Instant | None = None


class WhatIfIn(Body):
    """Everything that is to change, at once. `workers` is whom labels, drains, limits and retiring are about."""

    workers: Annotated[list[Name], Field(max_length=MOST_WORKERS)] = []
    labels: Labels = {}
    remove: Keys = []
    drain: bool | None = None
    retire: bool = False
    limits: LimitsIn = LimitsIn()
    reservations: Annotated[list[WindowIn], Field(max_length=MOST_RESERVATIONS)] = []
    end_reservations: Annotated[list[Id], Field(max_length=MOST_RESERVATIONS)] = []


class JobChangeOut(Answer):
    """One waiting job. `can_run` and `free`: workers that could run it, that could take it now; before and after."""

    job_id: str
    name: str
    owner: str
    effect: str
    can_run: tuple[int, int]
    free: tuple[int, int]
    then: str


class WhatIfOut(Answer):
    """What would change. `jobs` are the first, the worst off before the others; `hidden` may not be seen by you."""

    summary: str
    waiting: int
    changed: int
    counts: dict[str, int]
    jobs: list[JobChangeOut]
    hidden: int
    more: int
    pass_number: int | None
    seen_at: datetime


@router.post("what-if", response={200: WhatIfOut, **refusals(403, 404, body=True)})
def what_if(request: HttpRequest, payload: WhatIfIn) -> Any:
    """Which waiting jobs would gain or lose workers, start or stop fitting; nothing is saved. Operators may."""
    return answer(preview(_change(payload), now=timezone.now(), user=request.user))


def answer(found: Preview) -> dict[str, Any]:
    """The preview as it is sent."""
    counts = {effect.value: count for effect, count in found.counts.items()}
    return {
        "summary": " ".join(filter(None, (found.lead, found.parts))), "waiting": found.waiting,
        "changed": found.changed, "counts": counts, "jobs": found.jobs, "hidden": found.hidden, "more": found.more,
        "pass_number": found.pass_number, "seen_at": found.seen_at,
    }  # fmt: skip


def _change(payload: WhatIfIn) -> Change:
    names = [*payload.workers, *(window.worker for window in payload.reservations)]
    if names:
        services.live_workers_named(names)
    labels, removed = read_labels(payload.labels, payload.remove)
    return Change(
        workers=tuple(payload.workers), labels=labels, unlabels=removed, drain=payload.drain, retire=payload.retire,
        limits=payload.limits.model_dump(exclude_unset=True),
        windows=tuple(_window(place, window) for place, window in enumerate(payload.reservations)),
        ended=tuple(payload.end_reservations),
    )  # fmt: skip


def _window(place: int, window: WindowIn) -> tuple[str, Window]:
    full = holder(window.holder)
    problems = []
    if full is None:
        problems.append(Problem(f"reservations[{place}].holder", quoted(window.holder), HOLDER))
    starts_at = window.starts_at or timezone.now()
    if window.ends_at is not None and window.ends_at <= starts_at:
        problems.append(
            Problem(f"reservations[{place}].ends_at", window.ends_at.isoformat(), "an instant after the start")
        )
    if problems or full is None:
        raise Refused("invalid", "; ".join(map(str, problems)), status=422, problems=tuple(problems))
    devices = tuple(sorted(set(window.devices)))
    return window.worker, Window(holder=full, starts_at=starts_at, ends_at=window.ends_at, devices=devices)
