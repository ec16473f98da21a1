"""The kept decisions of one job, and what changed from one to another."""

from __future__ import annotations

from typing import Any

from scheduler.core.difference import Difference, difference
from scheduler.models import Decision, Job
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_at_for


def kept_of(job: Job) -> list[Decision]:
    """The job's kept decisions, newest first, at most a few hundred: the first, the latest, and what changed."""
    rows = Decision.objects.filter(job=job).select_related("pass_row").order_by("-pk")
    return list(
        rows.only(
            "made_at", "seen_at", "outcome", "kept", "summary", "job_id",
            "pass_row__number", "pass_row__started_at",
        )
    )  # fmt: skip


def kept_decision(user: Any, job: Job, key: int) -> Recorded | None:
    """One of the job's kept decisions in full, as this user may see it; None where it has none of this key, or no
    longer.
    """
    row = Decision.objects.filter(job=job, pk=key).select_related("pass_row", "job").first()
    return recorded_at_for(user, row) if row else None


def difference_between(before: Recorded, after: Recorded) -> Difference:
    """What became of each candidate, and through what."""
    return difference(
        (before.entry, before.decision), (after.entry, after.decision), fleets=(before.fleet, after.fleet)
    )
