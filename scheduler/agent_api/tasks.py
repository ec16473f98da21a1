"""What agents report of the tasks given to them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router

from scheduler.agent_api.closing import ClosingBearer
from scheduler.agent_api.wire_tasks import (
    CauseIn,
    ClaimIn,
    ClaimOut,
    DeclineIn,
    FencedIn,
    FinishIn,
    LogOut,
    StartedIn,
    TaskOut,
)
from scheduler.services import attempts, bundles, holds
from scheduler.services.reports import FinishReport
from scheduler.services.sealing import hand_out
from workers.auth import caller
from workers.refusals import Refused
from workers.wire import Count, Id, refusals

router = Router(tags=["tasks"])

TaskId = Path[Id]
LOG_BODY = {
    "requestBody": {
        "required": True,
        "description": "Frames: stream (1 byte, o or e), milliseconds since 1970 (8 bytes), length (4 bytes), data.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("tasks/{task_id}/claim", response={200: ClaimOut, **refusals(404, 409, body=True)}, summary="Claim")
def claim(request: HttpRequest, task_id: TaskId, payload: ClaimIn) -> Any:
    """Take a task on. The same fence again: the same answer, with `go` as it is by then."""
    now = timezone.now()
    taken = attempts.claim(credential=caller(request), task_id=task_id, now=now, **payload.model_dump())
    job = taken.rows.job
    return {
        "task": task_id,
        "fence": payload.fence,
        "job_id": job.job_id,
        "attempt": taken.rows.attempt.number,
        "rank": taken.rows.task.rank,
        "go": taken.go,
        "argv": taken.spec.command,
        "workdir": taken.spec.workdir,
        "env": dict(taken.spec.env),
        "secrets": hand_out(job, task_id=task_id, worker=taken.rows.worker.name, now=now),
        "environment": taken.spec.runtime.environment,
        "devices": [{"index": index, "uuid": uuid} for index, uuid in taken.devices],
        "timeout_s": taken.spec.timeout_s,
        "simulated": taken.rows.worker.simulated,
        "lease_seconds": taken.lease_seconds,
        "gang": taken.gang,
        "files": bundles.for_claim(job),
        "hold": holds.for_claim(job, now=now),
        "run_as": holds.account_of(job) or None,
        "submitter": job.owner.get_username(),
        "outputs_limit_bytes": settings.GPULAYER_OUTPUTS_LIMIT_BYTES,
    }


@router.post("tasks/{task_id}/decline", response={200: TaskOut, **refusals(404, 409, body=True)}, summary="Decline")
def decline(request: HttpRequest, task_id: TaskId, payload: DeclineIn) -> Any:
    """Give a task back before its start, through no fault of the job. Again, it changes nothing."""
    rows = attempts.decline(credential=caller(request), task_id=task_id, now=timezone.now(), **payload.model_dump())
    return {"task": task_id, "state": rows.task.state}


@router.post("tasks/{task_id}/started", response={200: TaskOut, **refusals(404, 409, body=True)}, summary="Started")
def started(request: HttpRequest, task_id: TaskId, payload: StartedIn) -> Any:
    """The process runs. Again, it changes nothing."""
    rows = attempts.started(
        credential=caller(request),
        task_id=task_id,
        now=timezone.now(),
        **payload.model_dump(),
    )
    return {"task": task_id, "state": rows.task.state}


@router.put(
    "tasks/{task_id}/log",
    auth=ClosingBearer(),
    response={200: LogOut, **refusals(404, 409, 416, 507, body=True)},
    openapi_extra=LOG_BODY,
    summary="Append to the log",
)
def log(
    request: HttpRequest,
    task_id: TaskId,
    offset: Query[Count],
    fence: Query[Count],
) -> Any:
    """Append whole frames at `offset`. The same bytes again are fine; behind the end: 416 with the true `size`."""
    if request.content_type != "application/octet-stream":
        raise Refused("unsupported_media_type", "the body must be application/octet-stream", status=415)
    size = attempts.append_log(
        credential=caller(request),
        task_id=task_id,
        fence=fence,
        offset=offset,
        body=request.body,
        now=timezone.now(),
    )
    return {"size": size}


@router.post(
    "tasks/{task_id}/finish",
    auth=ClosingBearer(),
    response={200: TaskOut, **refusals(404, 409, body=True)},
    summary="Finish",
)
def finish(request: HttpRequest, task_id: TaskId, payload: FinishIn) -> Any:
    """The process is over. The same report again is fine; of two different ones the first stands."""
    rows = attempts.finish(
        credential=caller(request),
        task_id=task_id,
        fence=payload.fence,
        epoch=payload.epoch,
        report=FinishReport(
            exit_code=payload.exit_code,
            signal=payload.signal,
            duration_ms=payload.duration_ms,
            log_size=payload.log_size,
            log_total=payload.log_total,
            log_sha256=payload.log_sha256,
            outputs_path=payload.outputs_path,
            start_error=_cause(payload.start_error),
            ended_by=_cause(payload.ended_by),
            timed_out=payload.timed_out,
        ),
        now=timezone.now(),
    )
    return {"task": task_id, "state": rows.task.state}


@router.post(
    "tasks/{task_id}/release",
    auth=ClosingBearer(),
    response={200: TaskOut, **refusals(404, 409, body=True)},
    summary="Release",
)
def release(request: HttpRequest, task_id: TaskId, payload: FencedIn) -> Any:
    """The task's processes are gone: what it held is free. Again, it changes nothing."""
    rows = attempts.release(
        credential=caller(request),
        task_id=task_id,
        now=timezone.now(),
        **payload.model_dump(),
    )
    return {"task": task_id, "state": rows.task.state}


def _cause(cause: CauseIn | None) -> tuple[str, str] | None:
    return (cause.code, cause.detail) if cause else None
