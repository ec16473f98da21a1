"""Whether a job is run again after an attempt, and when it is kept from it until a person has looked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from scheduler.models import Attempt, AttemptState, Event, Job, JobState, Task
from scheduler.models.attempts import ORDERLY
from scheduler.services.leases import REPEATED
from scheduler.services.outcomes import CRASHES, LOST_CODES

MOST_DECLINES = 5
"""In a row; after them the job is paused."""
POISONOUS = 2
"""Attempts that were lost, one of them by a crash; after them the job is paused."""
POISON, DECLINED = "poison", "declined"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The job goes back to the queue; with `paused_code` it stays there paused."""

    paused_code: str = ""
    paused_text: str = ""


def verdict_on(job: Job, attempt: Attempt, telling: Task) -> Verdict | None:
    """None where the job ends with this attempt. `telling` is the task that decides; call it once the attempt is over.

    Where nothing was started it is run again, always; else as often as its document allows, and never when it is to
    be cancelled.
    """
    if job.state == JobState.CANCELLING:
        return None
    if attempt.state == AttemptState.REVOKED:
        return _after_declines(job)
    if not _may_repeat(job, AttemptState(attempt.state), telling):
        return None
    return _after_losses(job) if telling.failure_code in LOST_CODES else Verdict()


def _may_repeat(job: Job, state: AttemptState, telling: Task) -> bool:
    retries: dict[str, Any] = job.spec.get("retries") or {}
    why = AttemptState.LOST if telling.failure_code in LOST_CODES else state
    if why not in REPEATED or why not in retries.get("on", ["lost"]):
        return False
    return job.attempts.filter(state__in=REPEATED).count() <= int(retries.get("max", 0))


def _after_declines(job: Job) -> Verdict:
    recent = list(_since_a_person_looked(job)[:MOST_DECLINES])
    declined = [[task for task in attempt.tasks.all() if task.failure_code] for attempt in recent]
    if len(recent) < MOST_DECLINES or not all(declined):
        return Verdict()
    if any(attempt.state != AttemptState.REVOKED for attempt in recent):
        return Verdict()
    last = declined[0][0]
    return Verdict(
        DECLINED,
        f"{MOST_DECLINES} times in a row its workers could not start it, the last time on {last.worker.name}: "
        f"{last.failure_text or last.failure_code}",
    )


def _after_losses(job: Job) -> Verdict:
    lost = [task for attempt in _since_a_person_looked(job) for task in attempt.tasks.all() if _is_suspicious(task)]
    crashes = [task for task in lost if task.failure_code in CRASHES]
    if len({task.attempt_id for task in lost}) < POISONOUS or not crashes:
        return Verdict()
    return Verdict(
        POISON, f"its attempts on {_named(lost)} were lost and took their agent or machine with them; look at its logs"
    )


def _is_suspicious(task: Task) -> bool:
    return task.failure_code in LOST_CODES and task.failure_code not in ORDERLY and task.state in REPEATED


def _named(tasks: Iterable[Task]) -> str:
    return " and ".join(sorted({task.worker.name for task in tasks}))


def _since_a_person_looked(job: Job) -> QuerySet[Attempt]:
    """Its attempts, the latest first, since it was last resumed."""
    attempts = job.attempts.order_by("-number").prefetch_related("tasks__worker")
    resumed = Event.objects.filter(subject_kind="job", subject=job.job_id, verb="state", before=JobState.PAUSED)
    last = resumed.order_by("-pk").values_list("at", flat=True).first()
    return attempts.filter(created_at__gte=last) if last else attempts
