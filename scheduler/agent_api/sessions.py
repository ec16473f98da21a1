"""Workers' sessions: enrol, register, heartbeat, and what waits for them."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Status

from scheduler.agent_api.waiting import LONGEST_SECONDS, room_to_wait, wait_for_news
from scheduler.agent_api.wire import EnrollIn, EnrollOut, HeartbeatIn, HeartbeatOut, OrdersOut, RegisterIn, RegisterOut
from scheduler.services import strays
from scheduler.services.assignments import orders, reunite, wanting
from scheduler.services.reminders import Reminders, remind
from scheduler.services.restored import confirm_known
from workers import services
from workers.auth import EnrolmentBearer, caller, check_live, token_of
from workers.models import Worker
from workers.models.worker import LIVE
from workers.refusals import NotFound, Refused
from workers.services.liveness import next_in
from workers.wire import refusals

router = Router(tags=["sessions"])

Wait = Annotated[float, Query(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False)]
RETRY_AFTER = "1"


def running(many: list[Any]) -> list[tuple[int, int]]:
    """(task, fence) pairs of what an agent says it runs."""
    return [(one.task, one.fence) for one in many]


def registration(body: RegisterIn) -> services.Registration:
    """The call's body as the service takes it."""
    return services.Registration(
        worker=body.worker, boot_id=body.boot_id, protocols=tuple(body.protocol), document=body.facts,
        unknown=body.unknown, instance=body.instance, seq=body.seq,
        host=None if body.host is None else body.host.model_dump(),
    )  # fmt: skip


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
    told = {result.worker_id: running(payload.running)}
    reunion = reunite(told, now=now, standings={result.worker_id: result.standing})[result.worker_id]
    reminders = Reminders() if result.standing.is_old else remind(told, now=now)
    return {
        "epoch": result.epoch,
        "next_in": next_in(simulated=result.simulated),
        "adopt": reunion.adopt,
        "kill": reunion.kill,
        "forget": reunion.forget,
        "leases": reminders.leases,
        "holds": reminders.holds,
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
        instance=payload.instance,
    )
    now = timezone.now()
    heard = services.hear(credential=caller(request), heartbeats=[beat], now=now)
    if heard.unknown:
        raise NotFound(f"no worker {payload.worker!r} with this credential", code="no_such_worker")
    if heard.stale:
        raise Refused("stale_epoch", f"epoch {payload.epoch} is not {payload.worker!r}'s: register again")
    worker_id = heard.workers[payload.worker]
    if payload.strays and worker_id in heard.fresh:
        strays.record(worker_id, [strays.Stray(**one.model_dump()) for one in payload.strays], now=now)
    ran = {worker_id: running(payload.running)}
    reminders = remind(ran, now=now) if worker_id in heard.fresh else Reminders()
    told = orders(Q(worker=worker_id), now=now, running=ran)
    confirm_known(ran, kill=told.kill, held=heard.held, now=now)
    return {
        "assignments": [] if payload.leaving else told.assignments,
        "cancel": told.cancel,
        "kill": told.kill,
        "leases": reminders.leases,
        "holds": reminders.holds,
        "next_in": heard.next_in,
        "drain": payload.worker in heard.draining,
        "rotate": services.rotation_due(caller(request), now=now),
    }


@router.get("assignments", response={200: OrdersOut, 204: None, **refusals(404)}, summary="Assignments")
def assignments(
    request: HttpRequest, response: HttpResponse, worker: Query[str | None] = None, wait: Wait = 0.0
) -> Any:
    """What waits to be claimed or cancelled, for one worker or all of the credential's. Changes nothing.

    With `wait` it is answered once there is something, after so many seconds with 204; at once, and with Retry-After,
    where too many wait already. A credential that is revoked meanwhile ends the wait with 401 within seconds.
    """
    mine = Q(worker__credential=caller(request))
    if worker is not None:
        mine = Q(worker=_own_worker(request, worker))
    told = orders(mine, now=timezone.now())
    if not wait or told.assignments:
        return told
    credential = caller(request)
    with room_to_wait(credential.pk) as room:
        if room:
            wait_for_news(
                lambda: wanting(mine, now=timezone.now()), known=frozenset(told.cancel), seconds=wait,
                recheck=lambda: check_live(credential),
            )  # fmt: skip
    told = orders(mine, now=timezone.now())
    if told.assignments or told.cancel:
        return told
    if not room:
        response["Retry-After"] = RETRY_AFTER
    return Status(204, None)


def _own_worker(request: HttpRequest, name: str) -> int:
    own = Worker.objects.filter(LIVE, credential=caller(request), name=name)
    found = own.values_list("pk", flat=True).first() if "\0" not in name else None
    if found is None:
        raise NotFound(f"no worker {name[:100]!r} with this credential", code="no_such_worker")
    return found
