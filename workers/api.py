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
from workers.models import EnrolmentToken
from workers.wire import Answer, Body, Id, Instant, Line, refusals

router = Router(tags=["operators"])

MOST_USES = 10_000
MOST_TOKENS = 500
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


class LiveTokenOut(Answer):
    """A token that still lets somebody in. Of the token itself it has the first characters."""

    id: int
    prefix: str
    note: str
    origin: str
    simulated: bool
    uses_left: int
    expires_at: datetime
    created_at: datetime
    created_by: str | None


class LiveTokensOut(Answer):
    """The newest first."""

    items: list[LiveTokenOut]


class DrainIn(Body):
    """Why, and until when. `stop`: what still runs then is stopped, like a job that is cancelled."""

    note: Note = ""
    until: Instant | None = None
    stop: bool = False


class IntentOut(Answer):
    """What is wanted of the worker now."""

    name: str
    intent: str
    intent_note: str
    drain_deadline: datetime | None = None
    drain_stops: bool = False


class LivenessOut(Answer):
    """Whether the server hears of the worker."""

    name: str
    liveness: str


class AskedOut(Answer):
    """When its agent was asked to replace its credential."""

    name: str
    rotation_asked_at: datetime | None


@router.post("worker-tokens", response={201: WorkerTokenOut, **refusals(403, body=True)})
def create_worker_token(request: HttpRequest, payload: WorkerTokenIn) -> Any:
    """Make an enrolment token, good for an hour. Operators may."""
    secret, row = create_enrolment_token(
        uses=payload.uses,
        origin=payload.origin or "",
        simulated=payload.simulated,
        note=payload.note,
        created_by=cast("User", request.user),
        now=timezone.now(),
    )
    return Status(201, {"token": secret, "expires_at": row.expires_at})


@router.get("worker-tokens", response={200: LiveTokensOut, **refusals(403)})
def list_worker_tokens(request: HttpRequest) -> Any:
    """Enrolment tokens with uses left that have not expired. Operators may."""
    return {"items": [_token(row) for row in services.live_tokens(now=timezone.now())[:MOST_TOKENS]]}


@router.post("worker-tokens/{token_id}/revoke", response={200: LiveTokenOut, **refusals(403, 404, body=True)})
def revoke_worker_token(request: HttpRequest, token_id: Path[Id]) -> Any:
    """End an enrolment token; who came in by it stays. Operators may."""
    return _token(services.revoke_token(token_id=token_id, actor=actor_of(request), now=timezone.now()))


@router.post("workers/{name}/drain", response={200: IntentOut, **refusals(403, 404, body=True)})
def drain_worker(request: HttpRequest, name: Path[str], payload: DrainIn) -> Any:
    """Give the worker no more work; what runs there runs on, or until a deadline. Operators may."""
    return services.drain(name=name, actor=actor_of(request), now=timezone.now(), **payload.model_dump())


@router.post("workers/{name}/undrain", response={200: IntentOut, **refusals(403, 404, body=True)})
def undrain_worker(request: HttpRequest, name: Path[str]) -> Any:
    """Let the worker have work again. Operators may."""
    return services.undrain(name=name, actor=actor_of(request), now=timezone.now())


@router.post("workers/{name}/revoke", response={200: LivenessOut, **refusals(403, 404, body=True)})
def revoke_worker(request: HttpRequest, name: Path[str]) -> Any:
    """End the worker's credential: its agent is let in no more, ends its tasks and goes. Operators may."""
    worker = services.revoke(name=name, actor=actor_of(request), now=timezone.now())
    return {"name": worker.name, "liveness": worker.liveness}


@router.post("workers/{name}/rotate", response={200: AskedOut, **refusals(403, 404, 409, body=True)})
def rotate_worker(request: HttpRequest, name: Path[str]) -> Any:
    """Have the worker's agent replace its credential at its next call. Operators may."""
    worker = services.ask_to_rotate(name=name, actor=actor_of(request), now=timezone.now())
    assert worker.credential is not None
    return {"name": worker.name, "rotation_asked_at": worker.credential.rotation_asked_at}


def _token(row: EnrolmentToken) -> dict[str, Any]:
    fields = ("id", "prefix", "note", "origin", "simulated", "uses_left", "expires_at", "created_at")
    made_by = row.created_by.get_username() if row.created_by else None
    return {**{name: getattr(row, name) for name in fields}, "created_by": made_by}


def actor_of(request: HttpRequest) -> str:
    """The caller, for events."""
    return f"user:{request.user.get_username()}"
