"""What people do with jobs: pause, resume, cancel, clone, retry. Again is as good as once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja import Header, Path, Router, Status

from scheduler.api.jobs import found, job_detail, not_yours
from scheduler.api.wire import JobDetailOut
from scheduler.models import Job
from scheduler.services import jobs
from scheduler.services.copies import clone_job, retry_job
from scheduler.services.pausing import pause_job, resume_job
from workers.refusals import Refused
from workers.wire import refusals

router = Router(tags=["jobs"])

JobId = Path[str]
Key = Annotated[str | None, Header(alias="Idempotency-Key")]
CHANGED = {200: JobDetailOut, **refusals(403, 404, 409, body=True)}
MADE = {201: JobDetailOut, **refusals(403, 404, 409, body=True)}


@router.post("jobs/{job_id}/pause", response=CHANGED)
def pause(request: HttpRequest, job_id: JobId) -> Any:
    """Keep a queued job from being placed until it is resumed. Its owner and operators may."""
    return _changed(request, job_id, "pause", pause_job)


@router.post("jobs/{job_id}/resume", response=CHANGED)
def resume(request: HttpRequest, job_id: JobId) -> Any:
    """Let a paused job be placed again. Its owner and operators may."""
    return _changed(request, job_id, "resume", resume_job)


@router.post("jobs/{job_id}/cancel", response={200: JobDetailOut, **refusals(403, 404, body=True)})
def cancel_job(request: HttpRequest, job_id: JobId) -> Any:
    """End a job: a waiting one at once, a running one when its worker has stopped it. Its owner and operators may."""
    return _changed(request, job_id, "cancel", jobs.cancel_job)


@router.post("jobs/{job_id}/clone", response=MADE)
def clone(request: HttpRequest, job_id: JobId, idempotency_key: Key = None) -> Any:
    """Submit the whole document of a job as a new job of the caller.

    Secrets and files are those of the job where it is the caller's own; else the document has to have none.
    """
    job = found(request, job_id).job
    owner = cast("User", request.user)
    return _made(request, lambda: clone_job(job=job, owner=owner, now=timezone.now(), idempotency_key=idempotency_key))


@router.post("jobs/{job_id}/retry", response=MADE)
def retry(request: HttpRequest, job_id: JobId, idempotency_key: Key = None) -> Any:
    """Submit a job that is over once more, unchanged, for its owner. Its owner and operators may."""
    job = permitted(request, job_id, "retry")
    return _made(
        request,
        lambda: retry_job(job=job, actor=actor(request), now=timezone.now(), idempotency_key=idempotency_key),
    )


def permitted(request: HttpRequest, job_id: str, what: str) -> Job:
    """The job, if the caller may change it. Raises NotFound, Refused `not_yours`."""
    job = found(request, job_id).job
    if not jobs.may_change(request.user, job):
        raise not_yours(job, what)
    return job


def actor(request: HttpRequest) -> str:
    """The caller, for events."""
    return f"user:{request.user.get_username()}"


def _changed(request: HttpRequest, job_id: str, what: str, act: Callable[..., Job]) -> dict[str, Any]:
    act(job=permitted(request, job_id, what), actor=actor(request), now=timezone.now())
    return job_detail(request, job_id)


def _made(request: HttpRequest, make: Callable[[], Job]) -> Any:
    try:
        made = make()
    except jobs.KeyReusedError as error:
        raise Refused("idempotency_key_reused", str(error)) from error
    return Status(201, job_detail(request, made.job_id))
