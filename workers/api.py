"""What operators do with workers over HTTP: let them in, drain them, have them back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router, Status
from pydantic import Field

from workers import services
from workers.auth import create_enrolment_token
from workers.models import Worker
from workers.refusals import Refused
from workers.wire import Answer, Body, Line, refusals

router = Router(tags=["operators"])

MOST_USES = 10_000
Note = Annotated[Line, Field(max_length=200)]


class WorkerTokenIn(Body):
    """What the token is for. `origin` null: any."""

    uses: Annotated[int, Field(ge=1, le=MOST_USES)] = 1
    origin: Literal["local", "remote", "cloud"] | None = None
    simulated: bool = False
    note: Note = ""


class WorkerTokenOut(Answer):
    """The token, shown this once."""

    token: str
    expires_at: datetime


class DrainIn(Body):
    """Why."""

    note: Note = ""


class IntentOut(Answer):
    """What is wanted of the worker now."""

    name: str
    intent: str
    intent_note: str


@router.post("worker-tokens", response={201: WorkerTokenOut, **refusals(403, body=True)})
def create_worker_token(request: HttpRequest, payload: WorkerTokenIn) -> Any:
    """Make an enrolment token, good for an hour. Operators may."""
    _operators_only(request)
    secret, row = create_enrolment_token(
        uses=payload.uses,
        origin=payload.origin or "",
        simulated=payload.simulated,
        note=payload.note,
        created_by=cast("User", request.user),
        now=timezone.now(),
    )
    return Status(201, {"token": secret, "expires_at": row.expires_at})


@router.post("workers/{name}/drain", response={200: IntentOut, **refusals(403, 404, body=True)})
def drain_worker(request: HttpRequest, name: Path[str], payload: DrainIn) -> Any:
    """Give the worker no more work; what runs there runs on. Operators may."""
    _operators_only(request)
    return _intent(services.drain(name=name, note=payload.note, actor=_actor(request), now=timezone.now()))


@router.post("workers/{name}/undrain", response={200: IntentOut, **refusals(403, 404, body=True)})
def undrain_worker(request: HttpRequest, name: Path[str]) -> Any:
    """Let the worker have work again. Operators may."""
    _operators_only(request)
    return _intent(services.undrain(name=name, actor=_actor(request), now=timezone.now()))


def _operators_only(request: HttpRequest) -> None:
    if not request.user.is_staff:
        raise Refused("operators_only", "only operators may do this", status=403)


def _actor(request: HttpRequest) -> str:
    return f"user:{request.user.get_username()}"


def _intent(worker: Worker) -> dict[str, str]:
    return {"name": worker.name, "intent": worker.intent, "intent_note": worker.intent_note}
