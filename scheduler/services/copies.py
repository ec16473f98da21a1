"""Jobs made from earlier jobs: a clone is its maker's, a retry is the same job of the same owner once more."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from scheduler.core.errors import DocumentError, Problem
from scheduler.models import Job
from scheduler.services.jobs import Origin, may_see_values, submit_job
from scheduler.services.sealing import kept_secrets
from scheduler.services.teams import NO_TEAM
from scheduler.services.visibility import team_keys
from workers.refusals import Refused


def document_to_clone(user: User, job: Job) -> dict[str, Any]:
    """What a clone by this user begins with: the document without what is `left_out`; secrets are only named."""
    without = ("version", *left_out(user, job))
    return {key: value for key, value in job.spec.items() if key not in without}


def left_out(user: User, job: Job) -> tuple[str, ...]:
    """The parts of its document that a clone by this user cannot have: values and files that are somebody else's."""
    seen = {"env": may_see_values(user, job), "files": user.pk == job.owner_id}
    return tuple(key for key, is_seen in seen.items() if job.spec.get(key) and not is_seen)


def clone_job(*, job: Job, owner: User, now: datetime, idempotency_key: str | None = None) -> Job:
    """Queue a job of this owner with the whole document of another job.

    Raises `DocumentError` where a part of it is left out or the value of a secret is not kept for this owner, and
    whatever else `submit_job` raises.
    """
    if missing := left_out(owner, job):
        expected = f"your own: those of {job.owner.get_username()} are not given to others"
        raise DocumentError([Problem(part, "values of somebody else", expected) for part in missing])
    return submit_job(
        document=document_to_clone(owner, job), owner=owner, now=now, idempotency_key=idempotency_key,
        origin=Origin(job, "clone"), kept=kept_for(owner, job),
        team=job.team if job.team_id in team_keys(owner) else None,
    )  # fmt: skip


def retry_job(*, job: Job, actor: str, now: datetime, idempotency_key: str | None = None) -> Job:
    """Queue a job that is over once more, whole and unchanged, for its owner; the old one stays as it ended.

    Refused: `not_over`. Raises `DocumentError` where its secrets are kept no longer.
    """
    if not job.is_over:
        raise Refused("not_over", f"{job.job_id} is {job.state_words}; only a job that is over can be retried")
    return submit_job(
        document=job.spec, owner=job.owner, now=now, idempotency_key=idempotency_key,
        origin=Origin(job, "retry", actor), kept=kept_secrets(job), team=job.team or NO_TEAM,
    )  # fmt: skip


def kept_for(user: User, job: Job) -> dict[str, str]:
    """The values of its secrets that a job of this user may be given: those of the user's own jobs."""
    return kept_secrets(job) if user.pk == job.owner_id else {}
