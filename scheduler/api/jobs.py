"""Jobs for people and programs: submit, list, look; the decision; the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Header, Path, Query, Router, Status

from scheduler import queries
from scheduler.api.wire import DecisionOut, JobDetailOut, JobsOut
from scheduler.api.wire_asked import JobsAsked, SubmissionAsked
from scheduler.core.codec import decision_to_document
from scheduler.core.explain import Answer, answer, funnel
from scheduler.core.words import in_utc
from scheduler.documents import LONGEST_TEXT, Format, read_text
from scheduler.models import Job, TaskState
from scheduler.services import deleting, holds, jobs
from scheduler.services.hold_limits import limit_of
from scheduler.services.pausing import UNTIL_RESUMED, paused_words
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.visibility import clones_of, find, may_see, seen_by, teller_for, told_to
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
MOST_CLONES = 100
SUBMISSION = {
    "requestBody": {
        "required": True,
        "description": f"A job document in JSON or YAML, at most {LONGEST_TEXT} bytes.",
        "content": {kind: {"schema": {"type": "object"}} for kind in ("application/json", "application/yaml")},
    }
}


@router.post("jobs", response={201: JobDetailOut, **refusals(403, 409, body=True)}, openapi_extra=SUBMISSION)
def submit_job(
    request: HttpRequest,
    asked: Query[SubmissionAsked],
    idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Any:
    """Submit a job. The same `Idempotency-Key` with the same document again answers with the first job.

    `team` names the team that owns it beside the caller: one of the caller's, or any for operators. Left out, it is
    the caller's only one, where there is exactly one; empty, there is none.
    """
    kind = FORMATS.get(request.content_type or "")
    if kind is None:
        raise Refused("unsupported_media_type", f"the body must be one of {', '.join(FORMATS)}", status=415)
    document = read_text(body_text(request.body), format=kind)
    try:
        job = jobs.submit_job(
            document=document, owner=cast("User", request.user), now=timezone.now(), idempotency_key=idempotency_key,
            team=asked.team,
        )  # fmt: skip
    except jobs.KeyReusedError as error:
        raise Refused("idempotency_key_reused", str(error)) from error
    return Status(201, job_detail(request, job.job_id))


@router.get("jobs", response={200: JobsOut, **refusals()})
def list_jobs(request: HttpRequest, asked: Query[JobsAsked]) -> Any:
    """Jobs, newest first. `q` is part of a name or id; `active` and `over` are groups of states."""
    page = queries.jobs_page(
        seen_by(request.user), state=asked.state or "", q=asked.q, owner=asked.owner, team=asked.team,
        after=asked.after or "", limit=asked.limit,
    )  # fmt: skip
    tell = teller_for(request.user, map(_short_answer, page.rows))
    return {"items": [job_document(row, tell) for row in page.rows], "next": page.after}


@router.get("jobs/{job_id}", response={200: JobDetailOut, **refusals(404)})
def get_job(request: HttpRequest, job_id: JobId) -> Any:
    """One job."""
    return job_detail(request, job_id)


@router.delete("jobs/{job_id}", response={204: None, **refusals(403, 404, 405, 409)})
def delete_job(request: HttpRequest, job_id: JobId) -> Any:
    """Delete a job that is over, with its logs, outputs and decisions. Its owner and operators may; its events stay."""
    job = found(request, job_id).job
    if not jobs.may_change(request.user, job):
        raise not_yours(job, "delete")
    deleting.delete_job(job=job, actor=f"user:{request.user.get_username()}", now=timezone.now())
    return Status(204, None)


@router.get("jobs/{job_id}/decision", response={200: DecisionOut, **refusals(404)})
def get_decision(request: HttpRequest, job_id: JobId, grouped: Query[bool] = False) -> Any:
    """The latest decision: every candidate worker with all its reasons; `grouped`: those that say the same together."""
    job = found(request, job_id).job
    kept = recorded_for(request.user, job)
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


def found(request: HttpRequest, job_id: str) -> queries.JobRow:
    """The job of this id, if the caller sees it. Raises NotFound."""
    return queries.row_of(find(request.user, job_id, among=queries.WITH_ALL))


def not_yours(job: Job, what: str) -> Refused:
    """The refusal of who sees a job and may not do this with it."""
    owner = job.owner.get_username()
    others = f"{owner}, team {job.team.name} and operators" if job.team else f"{owner} and operators"
    return Refused("not_yours", f"{job.job_id} belongs to {owner}; only {others} may {what} it", status=403)


def job_document(row: queries.JobRow, tell: Callable[[str], str]) -> dict[str, Any]:
    """A job as it is shown in lists; `tell` makes of a sentence what the caller may read."""
    job = row.job
    placed = row.tasks[0] if row.tasks and job.state not in ("queued", "paused") else None
    return {
        "job_id": job.job_id,
        "name": job.name,
        "owner": job.owner.get_username(),
        "team": job.team.name if job.team else None,
        "state": job.state,
        "submitted_at": job.submitted_at,
        "state_since": job.state_since,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "exit_code": job.exit_code,
        "signal": placed.signal if placed else None,
        "failure_code": job.failure_code,
        "failure_text": job.failure_text,
        "paused_code": job.paused_code,
        "paused_text": job.paused_text,
        "contact_lost_since": min(
            (task.state_since for task in row.tasks if task.state == TaskState.UNKNOWN), default=None
        ),
        "simulated": job.simulated,
        "attempt": placed.attempt.number if placed else None,
        "worker": placed.worker.name if placed else None,
        "devices": placed.devices if placed else [],
        "short_answer": job.in_short(placed.signal if placed else None) or tell(_short_answer(row)) or None,
        "url": reverse("job", args=[job.job_id]),
    }


def job_detail(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """A job by itself, as this caller may see it. Raises NotFound."""
    row = found(request, job_id)
    job, kept = row.job, recorded_for(request.user, row.job)
    said = _held(row) or (_answer(job, kept).lead if kept else None)
    return {
        **job_document(row, partial(told_to, request.user)),
        "answer": paused_words(job) or said,
        "cloned_from": job.cloned_from.job_id if job.cloned_from and may_see(request.user, job.cloned_from) else None,
        "clones": clones_of(request.user, job, most=MOST_CLONES),
        "spec": jobs.document_for(request.user, job),
        "hold": _hold(request, job),
    }


def _short_answer(row: queries.JobRow) -> str:
    return str(row.job.decision.summary.get("short_answer", "")) if row.job.decision else ""


def _held(row: queries.JobRow) -> str | None:
    return holds.sentence(row.job, row.tasks[0] if row.tasks else None, now=timezone.now(), clock=in_utc)


def _hold(request: HttpRequest, job: Job) -> dict[str, Any] | None:
    """Its devices, and the way to them for those who may have it."""
    if holds.seconds_asked(job) is None:
        return None
    latest = limit_of(job, now=timezone.now()).until if job.hold_until else None
    return {
        "until": job.hold_until,
        "latest": latest,
        "access": holds.access(job) if jobs.may_change(request.user, job) else [],
    }


def _answer(job: Job, kept: Recorded) -> Answer:
    if said := paused_words(job):
        return Answer(job.state, said, (UNTIL_RESUMED,))
    return answer(kept.entry, kept.decision, state=job.state, exit_code=job.exit_code)
