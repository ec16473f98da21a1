"""The same for many simulated workers at once, at the price of one."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from ninja import Router

from scheduler.agent_api.sessions import registration, running
from scheduler.agent_api.wire import FleetHeartbeatIn, FleetHeartbeatOut, FleetRegisterIn, FleetRegisterOut
from scheduler.services.assignments import Reunion, orders, reunite
from scheduler.services.reminders import remind
from scheduler.services.restored import confirm_known
from workers import services
from workers.auth import caller
from workers.refusals import Refused
from workers.services.liveness import next_in
from workers.wire import problem_body, refusals

router = Router(tags=["fleets"])


@router.post("fleet/register", response={200: FleetRegisterOut, **refusals(409, body=True)}, summary="Register a fleet")
def register(request: HttpRequest, payload: FleetRegisterIn) -> Any:
    """Register many workers; one that is refused does not hold up the others."""
    now = timezone.now()
    results = services.register(
        credential=caller(request), registrations=[registration(one) for one in payload.registrations], now=now
    )
    sessions = {result.worker: result for result in results if isinstance(result, services.Session)}
    told = {
        sessions[one.worker].worker_id: running(one.running) for one in payload.registrations if one.worker in sessions
    }
    reunions = reunite(told, now=now, standings={session.worker_id: session.standing for session in sessions.values()})
    answers = [
        _answer(one.worker, result, reunions) for one, result in zip(payload.registrations, results, strict=True)
    ]
    return {"answers": answers, "next_in": next_in(simulated=True)}


@router.post("fleet/heartbeat", response={200: FleetHeartbeatOut, **refusals(body=True)}, summary="Fleet heartbeat")
def heartbeat(request: HttpRequest, payload: FleetHeartbeatIn) -> Any:
    """Say that many workers are there; hear what each is to do. Workers nobody knows are among the stale."""
    now = timezone.now()
    beats = [
        services.Heartbeat(
            worker=one.worker, epoch=one.epoch, seq=one.seq, leaving=one.leaving, instance=one.instance
        )
        for one in payload.heartbeats
    ]  # fmt: skip
    heard = services.hear(credential=caller(request), heartbeats=beats, now=now)
    ran = {heard.workers[one.worker]: running(one.running) for one in payload.heartbeats if one.worker in heard.workers}
    reminders = remind({worker: many for worker, many in ran.items() if worker in heard.fresh}, now=now)
    told = orders(Q(worker__in=ran), now=now, running=ran)
    confirm_known(ran, kill=told.kill, held=heard.held, now=now)
    leaving = {one.worker for one in payload.heartbeats if one.leaving}
    return {
        "assignments": [one for one in told.assignments if one.worker not in leaving],
        "cancel": told.cancel,
        "kill": told.kill,
        "leases": reminders.leases,
        "holds": reminders.holds,
        "stale": [*heard.stale, *heard.unknown],
        "drain": sorted(heard.draining),
        "next_in": heard.next_in,
    }


def _answer(worker: str, result: services.Session | Refused, reunions: dict[int, Reunion]) -> dict[str, Any]:
    if isinstance(result, services.Session):
        reunion = reunions[result.worker_id]
        return {
            "worker": worker, "epoch": result.epoch,
            "adopt": reunion.adopt, "kill": reunion.kill, "forget": reunion.forget,
        }  # fmt: skip
    problem = problem_body(result.status, result.detail, code=result.code, problems=result.problems)
    return {"worker": worker, "problem": problem}
