"""Workers' sessions: enrol, register, heartbeat, and what waits for them."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router

from scheduler.agent_api.wire import EnrollIn, EnrollOut, HeartbeatIn, HeartbeatOut, OrdersOut, RegisterIn, RegisterOut
from scheduler.services.assignments import orders, reunite
from workers import services
from workers.auth import EnrolmentBearer, caller, token_of
from workers.models import Worker
from workers.models.worker import LIVE
from workers.refusals import NotFound, Refused
from workers.services.liveness import next_in
from workers.wire import refusals

router = Router(tags=["sessions"])


def running(many: list[Any]) -> list[tuple[int, int]]:
    """(task, fence) pairs of what an agent says it runs."""
    return [(one.task, one.fence) for one in many]


def registration(body: RegisterIn) -> services.Registration:
    """The call's body as the service takes it."""
    return services.Registration(body.worker, body.boot_id, tuple(body.protocol), body.facts)


@router.post(
    "enroll", auth=EnrolmentBearer(), response={200: EnrollOut, **refusals(403, 409, 426, body=True)}, summary="Enrol"
)
def enroll(request: HttpRequest, payload: EnrollIn) -> Any:
    """Let workers in: the enrolment token buys a credential, which is shown this once."""
    secret = services.enrol(
        token=token_of(request),
        newcomers=[services.Newcomer(one.name, one.origin, one.simulated) for one in payload.workers],
        machine_id=payload.machine,
        protocols=payload.protocol,
        agent_version=payload.agent_version,
        now=timezone.now(),
    )
    return {"credential": secret, "workers": [one.name for one in payload.workers]}


@router.post("register", response={200: RegisterOut, **refusals(404, 409, 426, body=True)}, summary="Register")
def register(request: HttpRequest, payload: RegisterIn) -> Any:
    """Begin a session, or go on with it: the same boot gets the same epoch."""
    now = timezone.now()
    (result,) = services.register(
        credential=caller(request),
        registrations=[registration(payload)],
        now=now,
    )
    if isinstance(result, Refused):
        raise result
    reunion = reunite({result.worker_id: running(payload.running)}, now=now)[result.worker_id]
    return {
        "epoch": result.epoch,
        "next_in": next_in(simulated=result.simulated),
        "adopt": reunion.adopt,
        "kill": reunion.kill,
        "forget": reunion.forget,
    }


@router.post("heartbeat", response={200: HeartbeatOut, **refusals(404, 409, body=True)}, summary="Heartbeat")
def heartbeat(request: HttpRequest, payload: HeartbeatIn) -> Any:
    """Say that the worker is there; hear what to do. An old `seq` changes nothing."""
    beat = services.Heartbeat(
        worker=payload.worker,
        epoch=payload.epoch,
        seq=payload.seq,
        readings=tuple(services.Reading(**device.model_dump()) for device in payload.devices),
        leaving=payload.leaving,
    )
    heard = services.hear(credential=caller(request), heartbeats=[beat], now=timezone.now())
    if heard.unknown:
        raise NotFound(f"no worker {payload.worker!r} with this credential", code="no_such_worker")
    if heard.stale:
        raise Refused("stale_epoch", f"epoch {payload.epoch} is not {payload.worker!r}'s: register again")
    worker_id = heard.workers[payload.worker]
    told = orders(Q(worker=worker_id), running={worker_id: running(payload.running)})
    return {
        "assignments": [] if payload.leaving else told.assignments,
        "cancel": told.cancel,
        "kill": told.kill,
        "next_in": heard.next_in,
        "drain": payload.worker in heard.draining,
    }


@router.get("assignments", response={200: OrdersOut, **refusals(404)}, summary="Assignments")
def assignments(request: HttpRequest, worker: Query[str | None] = None) -> Any:
    """What waits to be claimed or cancelled, for one worker or all of the credential's. Changes nothing."""
    mine = Q(worker__credential=caller(request))
    if worker is not None:
        mine = Q(worker=_own_worker(request, worker))
    return orders(mine)


def _own_worker(request: HttpRequest, name: str) -> int:
    own = Worker.objects.filter(LIVE, credential=caller(request), name=name)
    found = own.values_list("pk", flat=True).first() if "\0" not in name else None
    if found is None:
        raise NotFound(f"no worker {name[:100]!r} with this credential", code="no_such_worker")
    return found
