"""A job's state as a pill: kind, and the words that lists and pages show."""

from __future__ import annotations

from scheduler.models import Job, JobState
from scheduler.models.decisions import Outcome
from workers.moments import minute, now

Pill = tuple[str, str]

_ENDED: dict[str, Pill] = {
    JobState.SUCCEEDED: ("ok", "Succeeded"),
    JobState.CANCELLED: ("stopped", "Cancelled"),
    JobState.TIMED_OUT: ("timed_out", "Timed out"),
}
_FAILURES: dict[str, Pill] = {
    "unschedulable": ("failed", "Unschedulable"),
    "lost": ("unknown", "Lost"),
}
_GOING: dict[str, Pill] = {
    JobState.PAUSED: ("none", "Paused"),
    JobState.ASSIGNED: ("run", "Starting"),
    JobState.RUNNING: ("run", "Running"),
    JobState.CANCELLING: ("stopping", "Cancelling"),
}


def job_pill(job: Job) -> Pill:
    """Colour, shape and word of where a job stands; a queued one says whether waiting can help."""
    if job.state == JobState.QUEUED:
        return _queued(job)
    if job.state == JobState.RUNNING and job.hold_until:
        return "held", f"Held until {minute(job.hold_until, now=now())}"
    if job.state == JobState.FAILED:
        if job.failure_code in _FAILURES:
            return _FAILURES[job.failure_code]
        return ("failed", "Failed to start") if job.started_at is None else ("failed", "Failed")
    return _ENDED.get(job.state) or _GOING[job.state]


def _queued(job: Job) -> Pill:
    if job.decision is not None and job.decision.outcome == Outcome.UNSCHEDULABLE:
        return "never", "Never fits"
    if job.decision is not None and job.decision.summary["answer"]["state"] == "reserved":
        return "rsv", "Reserved"
    return "wait", "Waiting"
