"""The whole queue at once: what kept it waiting when the latest pass had decided it, as somebody may see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from scheduler.core.fleet import Fleet
from scheduler.core.rollup import QueueAccount, RollUp
from scheduler.models import Job, JobState, SchedulingPass
from scheduler.services import rollup_rows
from scheduler.services.ledger import placements_of
from scheduler.services.recorded import fleet_after, view_seen_by
from scheduler.services.visibility import ids_in, seen_by, seen_ids, sees_all, without_others


@dataclass(frozen=True, slots=True)
class QueueView:
    """The roll-up of a queue, and the pass that made it."""

    pass_: SchedulingPass
    found: RollUp


def latest_roll_up(user: Any) -> QueueView | None:
    """What the latest pass stored of the queue; None before the first pass.

    Only the jobs that this user sees are counted and named. Two queries, five where others' jobs are hidden.
    """
    kept = rollup_rows.latest()
    if kept is None:
        return None
    row, account = kept
    if not Job.objects.filter(state=JobState.QUEUED).exists():
        return QueueView(row, account.told(frozenset()))
    return QueueView(row, account.told() if sees_all(user) else _told_to(user, row, account))


def _told_to(user: Any, row: SchedulingPass, account: QueueAccount) -> RollUp:
    """The roll-up of those jobs that this user sees."""
    named = Q(job_id__in=[lever.subject for lever in account.levers])
    in_pass = Q(state=JobState.QUEUED) | Q(decision__pass_row=row)
    seen = frozenset(seen_by(user).filter(in_pass | named).values_list("job_id", flat=True))
    first = [job_id for cause in account.causes if (job_id := next((j for j in cause.jobs if j in seen), None))]
    said = _said_of(first, user)
    return account.told(seen, lambda job_id: said.get(job_id, ("", None)))


def _said_of(jobs: list[str], user: Any) -> Mapping[str, tuple[str, str | None]]:
    """What is answered of each of these jobs in short, without others' ids, and when it was submitted."""
    rows = list(
        Job.objects.filter(job_id__in=jobs).values_list("job_id", "submitted_at", "decision__summary__short_answer")
    )
    seen = seen_ids(user, (name for _, _, said in rows for name in ids_in(said or "")))
    return {job_id: (without_others(said or "", seen), at.isoformat()) for job_id, at, said in rows}


def left_by(row: SchedulingPass, waiting: set[str]) -> Fleet:
    """What the pass saw, with what it gave on it; what it meant to give to jobs that still wait was refused."""
    given = [planned for planned in placements_of(row) if planned.job_id not in waiting]
    return fleet_after(given, view_seen_by(row))
