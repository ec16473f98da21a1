"""Keeping a waiting job out of the passes, and letting it back in."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from scheduler.core.answers import capital
from scheduler.models import Job, JobState
from scheduler.nudge import request_pass
from scheduler.services.machines import move_job
from workers.refusals import Refused

PERSON = "person"
UNTIL_RESUMED = "No pass looks at it until it is resumed; it then has the place in the queue that it had before."


@transaction.atomic
def pause_job(*, job: Job, actor: str, now: datetime) -> Job:
    """Keep a queued job from being placed until it is resumed; pausing it again changes nothing.

    Refused: `not_waiting` for a job in any other state, which nothing happens to. Returns the job as it is then.
    """
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state == JobState.QUEUED:
        by = actor.removeprefix("user:")
        move_job(
            job, JobState.PAUSED, frm=JobState.QUEUED, actor=actor, now=now, cause="pause",
            paused_code=PERSON, paused_text=f"paused by {by}",
        )  # fmt: skip
    elif job.state != JobState.PAUSED:
        raise _not_waiting(job, "paused")
    return job


@transaction.atomic
def resume_job(*, job: Job, actor: str, now: datetime) -> Job:
    """Let a paused job be placed again, at the place in the queue that its submission gives it.

    Refused: `not_waiting` for one that is neither paused nor queued. Returns the job as it is then.
    """
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state == JobState.PAUSED:
        move_job(
            job, JobState.QUEUED, frm=JobState.PAUSED, actor=actor, now=now, cause="resume",
            paused_code="", paused_text="",
        )  # fmt: skip
        request_pass()
    elif job.state != JobState.QUEUED:
        raise _not_waiting(job, "resumed")
    return job


def paused_words(job: Job) -> str:
    """Why a paused job is paused, as a sentence; empty for a job that is not."""
    if job.state != JobState.PAUSED:
        return ""
    text = job.paused_text or "paused"
    return capital(text if text.startswith("paused") else f"paused: {text}")


def _not_waiting(job: Job, what: str) -> Refused:
    why = f"{job.job_id} is {job.state_words}; only a job that waits in the queue can be {what}"
    return Refused("not_waiting", why)
