"""Jobs for people and programs: submit, list, look, cancel; the decision; the log."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from ninja import Header, Path, Query, Router, Status

from scheduler import queries
from scheduler.api.wire import DecisionOut, JobDetailOut, JobsAsked, JobsOut, LogAsked, LogPageOut
from scheduler.core.codec import decision_to_document
from scheduler.core.explain import Answer, answer, funnel
from scheduler.documents import LONGEST_TEXT, Format, read_text
from scheduler.models import Job, Task
from scheduler.services import jobs
from scheduler.services.logs import LogPage, read_bytes, read_log
from scheduler.services.recorded import Recorded, recorded
from workers.refusals import NotFound, Refused
from workers.wire import body_text, refusals

router = Router(tags=["jobs"])

FORMATS: dict[str, Format] = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
}
JobId = Path[str]
SUBMISSION = {
    "requestBody": {
        "required": True,
        "description": f"A job document in JSON or YAML, at most {LONGEST_TEXT} bytes.",
        "content": {kind: {"schema": {"type": "object"}} for kind in ("application/json", "application/yaml")},
    }
}
TEXT_ANSWER = {
    "responses": {
        200: {
            "description": "Records as JSON, or what the program wrote as text",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/LogPageOut"}},
                "text/plain": {"schema": {"type": "string"}},
            },
        }
    }
}


@router.post("jobs", response={201: JobDetailOut, **refusals(403, 409, body=True)}, openapi_extra=SUBMISSION)
def submit_job(
    request: HttpRequest, idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key")] = None
) -> Any:
    """Submit a job. The same `Idempotency-Key` with the same document again answers with the first job."""
    kind = FORMATS.get(request.content_type or "")
    if kind is None:
        raise Refused("unsupported_media_type", f"the body must be one of {', '.join(FORMATS)}", status=415)
    document = read_text(body_text(request.body), format=kind)
    try:
        job = jobs.submit_job(
            document=document, owner=cast("User", request.user), now=timezone.now(), idempotency_key=idempotency_key
        )
    except jobs.KeyReusedError as error:
        raise Refused("idempotency_key_reused", str(error)) from error
    return Status(201, _detail(request, job.job_id))


@router.get("jobs", response={200: JobsOut, **refusals()})
def list_jobs(request: HttpRequest, asked: Query[JobsAsked]) -> Any:
    """Jobs, newest first. `q` is part of a name or id; `active` and `over` are groups of states."""
    page = queries.jobs_page(
        state=asked.state or "", q=asked.q, owner=asked.owner, after=asked.after or "", limit=asked.limit
    )
    return {"items": [job_document(row) for row in page.rows], "next": page.after}


@router.get("jobs/{job_id}", response={200: JobDetailOut, **refusals(404)})
def get_job(request: HttpRequest, job_id: JobId) -> Any:
    """One job."""
    return _detail(request, job_id)


@router.get("jobs/{job_id}/decision", response={200: DecisionOut, **refusals(404)})
def get_decision(request: HttpRequest, job_id: JobId, grouped: Query[bool] = False) -> Any:
    """The latest decision: every candidate worker with all its reasons; `grouped`: those that say the same together."""
    job = found(job_id).job
    kept = recorded(job)
    if kept is None:
        raise NotFound(f"no pass has considered {job_id} yet", code="no_decision")
    return {
        **decision_to_document(kept.decision, grouped=grouped),
        "answer": _answer(job, kept),
        "funnel": funnel(kept.entry, kept.decision),
        "made_at": kept.row.made_at,
        "seen_at": kept.row.seen_at,
        "intact": kept.intact,
    }


@router.get(
    "jobs/{job_id}/log", response={200: LogPageOut, **refusals(404, 416)}, openapi_extra=TEXT_ANSWER, summary="Get Log"
)
def get_log(request: HttpRequest, job_id: JobId, asked: Query[LogAsked]) -> Any:
    """The log of the latest attempt from `offset`: 0, or an earlier page's `next`. Text is all of it."""
    row = found(job_id)
    task = row.tasks[0] if row.tasks else None
    page = read_log(task, offset=asked.offset) if task else LogPage([], next=0, size=0)
    if asked.format == "json":
        ended = row.job.is_over and page.next >= page.size
        return {"records": page.records, "size": page.size, "next": page.next, "ended": ended}
    return _as_text(row.job, task, asked.offset, download=asked.download)


@router.post("jobs/{job_id}/cancel", response={200: JobDetailOut, **refusals(403, 404, body=True)})
def cancel_job(request: HttpRequest, job_id: JobId) -> Any:
    """End a job: a queued one at once, a running one when its worker has stopped it. Its owner and operators may."""
    job = found(job_id).job
    if not jobs.may_change(request.user, job):
        raise Refused(
            "not_yours", f"{job_id} belongs to {job.owner.get_username()}; operators may cancel it", status=403
        )
    jobs.cancel_job(job=job, actor=f"user:{request.user.get_username()}", now=timezone.now())
    return _detail(request, job_id)


def found(job_id: str) -> queries.JobRow:
    """The job of this id. Raises NotFound."""
    number = job_id.removeprefix("j-")
    if job_id.startswith("j-") and number.isascii() and number.isdigit() and len(number) <= 18:
        row = queries.job_row(job_id)
        if row is not None:
            return row
    raise NotFound(f"no job {job_id[:100]!r}", code="no_such_job")


def job_document(row: queries.JobRow) -> dict[str, Any]:
    """A job as it is shown in lists."""
    job = row.job
    placed = row.tasks[0] if row.tasks and job.state not in ("queued", "paused") else None
    summary = job.decision.summary if job.decision else {}
    return {
        "job_id": job.job_id,
        "name": job.name,
        "owner": job.owner.get_username(),
        "state": job.state,
        "submitted_at": job.submitted_at,
        "state_since": job.state_since,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "exit_code": job.exit_code,
        "signal": placed.signal if placed else None,
        "failure_code": job.failure_code,
        "failure_text": job.failure_text,
        "simulated": job.simulated,
        "attempt": placed.attempt.number if placed else None,
        "worker": placed.worker.name if placed else None,
        "devices": placed.devices if placed else [],
        "short_answer": job.in_short(placed.signal if placed else None) or summary.get("short_answer"),
        "url": reverse("job", args=[job.job_id]),
    }


def _detail(request: HttpRequest, job_id: str) -> dict[str, Any]:
    row = found(job_id)
    kept = recorded(row.job)
    said = _answer(row.job, kept).lead if kept else None
    return {**job_document(row), "answer": said, "spec": jobs.document_for(request.user, row.job)}


def _answer(job: Job, kept: Recorded) -> Answer:
    return answer(kept.entry, kept.decision, state=job.state, exit_code=job.exit_code)


def _as_text(job: Job, task: Task | None, offset: int, *, download: bool) -> HttpResponse | StreamingHttpResponse:
    """Never anything but text to a browser: no guessing, no scripts, not even opened when it is to be kept."""
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    if download:
        headers["Content-Disposition"] = f'attachment; filename="{job.job_id}.log"'
    if task is None:
        return HttpResponse(b"", headers=headers)
    return StreamingHttpResponse(read_bytes(task, offset=offset), headers=headers)
