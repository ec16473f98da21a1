"""Operators' word over HTTP that a worker is well again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router

from workers import services
from workers.api import actor_of
from workers.wire import Answer, refusals

router = Router(tags=["operators"])


class HealthOut(Answer):
    """Whether the worker may be trusted with work."""

    name: str
    health: str
    health_note: str


@router.post("workers/{name}/trust", response={200: HealthOut, **refusals(403, 404, body=True)})
def trust_worker(request: HttpRequest, name: Path[str]) -> Any:
    """Call the worker well again; what failed there before this counts no more. Operators may."""
    worker = services.trust(name=name, actor=actor_of(request), now=timezone.now())
    return {"name": worker.name, "health": worker.health, "health_note": worker.health_note}
