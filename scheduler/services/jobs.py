"""Submitting and cancelling jobs, and who may do what with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac

from scheduler.core.codec import canonical_bytes, job_to_document
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.models import Attempt, AttemptState, Event, Job, JobState, Task
from scheduler.nudge import request_pass
from scheduler.services.bundles import taken_for
from scheduler.services.holding import take_back
from scheduler.services.machines import move_attempt, move_job
from scheduler.services.sealing import seal, with_kept, without_values
from scheduler.services.teams import team_for
from scheduler.services.visibility import is_among_owners
from workers.roles import is_operator, may_submit, role_of

LONGEST_KEY = 200
HIDDEN = "(only its owner and operators see this)"
"""Stands for a value of `env` that is not everybody's."""

NOT_YOURS = "only its owner, its team and operators may do this with a job"


@dataclass(frozen=True, slots=True)
class Origin:
    """The job from which another one is made, how (`clone`, `retry`), and by whom, where that is not its owner."""

    job: Job
    how: str
    actor: str = ""

    @property
    def cause(self) -> str:
        """As the new job's event tells it."""
        return f"{self.how} of {self.job.job_id}"


class KeyReusedError(ValueError):
    """The idempotency key came with another document before."""


def submit_job(
    *,
    document: object,
    owner: User,
    now: datetime,
    idempotency_key: str | None = None,
    origin: Origin | None = None,
    kept: Mapping[str, str] | None = None,
    team: Group | str | None = None,
) -> Job:
    """Queue a job; the same key with the same document again returns the first job.

    `origin` says from which job it was made, `kept` gives the values of secrets that the document only names. `team`
    is taken as it is where it is one, else as `scheduler.services.teams.team_for` reads its name. Raises
    `DocumentError` with every problem of the document, `KeyReusedError` for a key that came with another one.
    """
    spec = with_kept(parse_job(document), kept or {})
    given = team if isinstance(team, Group) else team_for(owner, team)
    key = _checked_key(idempotency_key)
    stored = job_to_document(without_values(spec), with_secrets=True)
    digest = _digest(spec, stored) if key else ""
    if key and (earlier := _earlier(owner, key, digest)):
        return earlier
    secrets = seal(dict(spec.secrets), owner_id=owner.pk) if spec.secrets else None
    try:
        with transaction.atomic():
            bundle = taken_for(owner=owner, sha256=spec.files, now=now) if spec.files else None
            return _create(
                origin, bundle=bundle, name=spec.name, spec=stored, secrets=secrets, owner=owner, team=given,
                submitted_at=now, state_since=now, idempotency_key=key, idempotency_digest=digest,
            )  # fmt: skip
    except IntegrityError:
        # The same key at the same moment: the other call was first.
        if key and (earlier := _earlier(owner, key, digest)):
            return earlier
        raise


def may_change(user: Any, job: Job) -> bool:
    """Whether this user may pause, resume, cancel, retry or delete this job: its owner, its team and operators may.

    Who may only look may change nothing, not even what was submitted before.
    """
    return is_operator(user) or (may_submit(user) and is_among_owners(user, job))


def may_have_outputs(user: Any, job: Job) -> bool:
    """Whether this user may have what the job has left: its owner, its team and operators may."""
    return is_operator(user) or (role_of(user) is not None and is_among_owners(user, job))


def may_see_values(user: Any, job: Job) -> bool:
    """Whether this user may see the values of the job's `env`: its owner and operators may."""
    return is_operator(user) or (role_of(user) is not None and user.pk == job.owner_id)


def document_for(user: Any, job: Job) -> dict[str, Any]:
    """The job document as this user may see it; names in `env` stay."""
    document = dict(job.spec)
    if document.get("env") and not may_see_values(user, job):
        document["env"] = dict.fromkeys(document["env"], HIDDEN)
    return document


def cancel_job(*, job: Job, actor: str, now: datetime) -> Job:
    """Cancel a job that is not over: at once where nothing was let go, else its agent is told to stop it.

    Cancelling twice, or a job that is over, changes nothing. Returns the job as it is then.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job.pk)
        if job.state in (JobState.QUEUED, JobState.PAUSED):
            move_job(job, JobState.CANCELLED, frm=job.state, actor=actor, now=now, cancel_requested_at=now)
        elif job.state in (JobState.ASSIGNED, JobState.RUNNING):
            _stop(job, actor=actor, now=now)
    return job


def _create(origin: Origin | None, **fields: Any) -> Job:
    job = Job.objects.create(
        job_id=f"new-{uuid4().hex}", cloned_from=origin.job if origin else None, **fields
    )  # fmt: skip
    job.job_id = f"j-{job.pk}"
    job.save(update_fields=["job_id"])
    Event.objects.create(
        at=job.submitted_at, actor=(origin and origin.actor) or f"user:{job.owner.get_username()}", subject_kind="job",
        subject=job.job_id, verb="submitted", after=job.state, cause=origin.cause if origin else "",
    )  # fmt: skip
    request_pass()
    return job


def _earlier(owner: User, key: str, digest: str) -> Job | None:
    job = Job.objects.filter(owner=owner, idempotency_key=key).first()
    if job is not None and job.idempotency_digest != digest:
        raise KeyReusedError(f"this idempotency key was used for another document, as {job.job_id}")
    return job


def _checked_key(key: str | None) -> str | None:
    if not key:
        return None
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise DocumentError([
            Problem("Idempotency-Key", f"{len(key)} characters", f"at most {LONGEST_KEY} printable characters")
        ])  # fmt: skip
    return key


def _digest(spec: JobSpec, stored: dict[str, Any]) -> str:
    """Tells documents apart. Secrets count too, keyed: a plain hash would let short ones be guessed from the row."""
    if not spec.secrets:
        return hashlib.sha256(canonical_bytes(stored)).hexdigest()
    whole = canonical_bytes(job_to_document(spec, with_secrets=True))
    return salted_hmac("gpulayer.idempotency", whole, algorithm="sha256").hexdigest()


def _stop(job: Job, *, actor: str, now: datetime) -> None:
    """Revoke what was never let go; where anything may run, the job ends by its agents' reports."""
    attempt = Attempt.objects.select_for_update().get(job=job, active=True)
    tasks = list(Task.objects.select_for_update().filter(attempt=attempt).order_by("pk"))
    revoked = take_back(tasks, attempt, actor=actor, now=now, cause="cancel")
    if len(revoked) < len(tasks):
        move_job(job, JobState.CANCELLING, frm=job.state, actor=actor, now=now, cancel_requested_at=now)
        return
    move_attempt(attempt, AttemptState.CANCELLED, frm=attempt.state, actor=actor, now=now, cause="cancel")
    move_job(job, JobState.CANCELLED, frm=job.state, actor=actor, now=now, cancel_requested_at=now)
