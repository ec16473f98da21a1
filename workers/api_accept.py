"""Accepting over HTTP that a worker has less than it had."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router

from workers.services import offers
from workers.services.intent import live_worker
from workers.wire import Answer, refusals

router = Router(tags=["operators"])


class AcceptedOut(Answer):
    """The worker, the number of its facts from now on, and what it has less of."""

    name: str
    facts: int
    less: list[str]


@router.post("workers/{name}/accept", response={200: AcceptedOut, **refusals(403, 404, 409)})
def accept_facts(request: HttpRequest, name: Path[str]) -> Any:
    """Let the worker's facts be what it read last, which is less than it had. Operators may."""
    less = offers.offer_of(live_worker(name))
    worker = offers.accept(name=name, actor=f"user:{request.user.get_username()}", now=timezone.now())
    return {"name": worker.name, "facts": worker.facts.number if worker.facts else 0, "less": less}
