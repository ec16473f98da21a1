"""Why the jobs that wait are not on one worker: its own checks, asked as the latest pass saw it and left it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.fields.json import KeyTransform

from scheduler.core.availability import Setting
from scheduler.core.decision import TierStatus
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.labels import code_tone
from scheduler.core.reasons import Reason
from scheduler.core.sentences import sentence
from scheduler.core.spec import Origin, QueueEntry
from scheduler.core.why_not import COULD_TAKE_IT
from scheduler.core.words import Clock
from scheduler.facts import facts_by_id
from scheduler.models import Job, JobState, PassState, SchedulingPass
from scheduler.queue import Queued, take_queue
from scheduler.records import fleet_of
from scheduler.services.ledger import placements_of, seen_by
from scheduler.services.recorded import fleet_after
from scheduler.services.seen_fleet import as_seen, jobs_of
from scheduler.services.visibility import seen_ids

MOST_CAUSES = 8
MOST_NAMED = 3


@dataclass(slots=True)
class Cause:
    """Waiting jobs that the same sentence keeps off; of several reasons, the first that was found."""

    tone: str
    text: str
    jobs: int = 0
    first: tuple[str, ...] = ()
    """The ids of the first of them in the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHere:
    """The waiting jobs that somebody sees, by what keeps them off one worker; the commonest first."""

    waiting: int
    causes: tuple[Cause, ...]
    more: int
    """Jobs that further sentences keep off."""
    pass_number: int
    confirmed_at: datetime


def not_here(worker: str, *, user: Any, clock: Clock) -> NotHere | None:
    """None where the latest pass saw no such worker. Nine queries at most; what they cost grows with the queue."""
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    queue = take_queue()
    view = left_by(row, worker, {queued.job_id for queued in queue}) if row else None
    if row is None or view is None:
        return None
    seen = seen_ids(user, [*(queued.job_id for queued in queue), *jobs_of(view)])
    waiting = [queued for queued in queue if queued.job_id in seen]
    causes = _causes(waiting, as_seen(view, seen), clock)
    return NotHere(
        waiting=sum(cause.jobs for cause in causes),
        causes=tuple(causes[:MOST_CAUSES]),
        more=sum(cause.jobs for cause in causes[MOST_CAUSES:]),
        pass_number=row.number,
        confirmed_at=row.confirmed_at,
    )


def left_by(row: SchedulingPass, worker: str, waiting: Collection[str]) -> WorkerView | None:
    """The worker as the pass saw it, with what it gave there; what it meant for jobs that still wait was refused."""
    record = seen_by(row).get(worker)
    if record is None:
        return None
    alone = fleet_of({worker: record}, facts_by_id, at=row.started_at)
    given = [planned for planned in placements_of(row) if planned.job_id not in waiting]
    left: Fleet = fleet_after(given, alone)
    return left.workers[0]


def _causes(waiting: Iterable[Queued], view: WorkerView, clock: Clock) -> list[Cause]:
    closed = closed_targets(waiting)
    found: dict[tuple[str, str], Cause] = {}
    for queued in waiting:
        if queued.entry is None:
            continue
        tone, text = _said(reasons_on(queued.entry, view, closed.get(queued.pk, frozenset())), clock)
        cause = found.setdefault((tone, text), Cause(tone, text))
        cause.jobs += 1
        cause.first = (*cause.first, queued.job_id)[:MOST_NAMED]
    return sorted(found.values(), key=lambda cause: -cause.jobs)


def reasons_on(entry: QueueEntry, view: WorkerView, closed: frozenset[Origin]) -> tuple[Reason, ...]:
    """What keeps a job off a worker: why it never could run it, else why it cannot now; nothing where it could."""
    setting = Setting(closed=closed, avoided=frozenset(entry.failed_on) & {view.id})
    return compatibility_reasons(entry, view) or availability_reasons(entry, view, setting)


def _said(reasons: tuple[Reason, ...], clock: Clock) -> tuple[str, str]:
    if not reasons:
        return "ok", COULD_TAKE_IT
    return code_tone(reasons[0].code), sentence(reasons[0], clock=clock)


def closed_targets(waiting: Iterable[Queued]) -> Mapping[int, frozenset[Origin]]:
    """The targets that an earlier one keeps closed, as the kept decisions have it: of jobs with several."""
    if not any(queued.entry and len(queued.entry.spec.tiers) > 1 for queued in waiting):
        return {}
    kept = Job.objects.filter(state=JobState.QUEUED, decision__isnull=False)
    tiers = kept.values_list("pk", KeyTransform("tiers", "decision__summary"))
    return {
        pk: frozenset(Origin(tier["name"]) for tier in told if tier["status"] == TierStatus.CLOSED)
        for pk, told in tiers
        if len(told) > 1
    }
