"""One worker and the jobs that wait: what a pass left of it, and what its own checks say of a job there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import NamedTuple

from django.db.models.fields.json import KeyTransform

from scheduler.core.availability import Setting
from scheduler.core.decision import TierStatus
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.reasons import Reason
from scheduler.core.shapes import shape_of
from scheduler.core.spec import Origin, QueueEntry
from scheduler.facts import facts_by_id
from scheduler.models import Job, JobState, SchedulingPass
from scheduler.records import fleet_of
from scheduler.services.ledger import placements_of, seen_by
from scheduler.services.recorded import fleet_after
from scheduler.services.seen_fleet import as_seen, jobs_of

_CLOSED = TierStatus.CLOSED.value


class Turn(NamedTuple):
    """When a waiting job was decided last: in which pass, at which place of its queue, with which targets closed."""

    pass_pk: int
    position: int
    closed: frozenset[Origin]


def turns() -> Mapping[int, Turn]:
    """By the keys of the waiting jobs that are decided. One query."""
    rows = Job.objects.filter(state=JobState.QUEUED, decision__isnull=False).values_list(
        "pk", "decision__pass_row", "decision__position", KeyTransform("tiers", "decision__summary")
    )
    return {
        pk: Turn(pass_pk, position, frozenset(Origin(tier["name"]) for tier in tiers if tier["status"] == _CLOSED))
        for pk, pass_pk, position, tiers in rows
    }


def reasons_on(entry: QueueEntry, view: WorkerView, closed: frozenset[Origin]) -> tuple[Reason, ...]:
    """What keeps a job off a worker: why it never could run it, else why it cannot now; nothing where it could."""
    setting = Setting(closed=closed, avoided=frozenset(entry.failed_on) & {view.id})
    return compatibility_reasons(entry, view) or availability_reasons(entry, view, setting)


class Told:
    """What one worker says of jobs: of those that ask for the same at the same moment it is found once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[WorkerView, tuple[Reason, ...]]] = {}

    def of(self, entry: QueueEntry, view: WorkerView, closed: frozenset[Origin]) -> tuple[Reason, ...]:
        """As `reasons_on` says it."""
        shape, spec = shape_of(entry, frozenset(entry.holders), 0), entry.spec
        key = (shape, spec.timeout_s, spec.hold_s, view.id in entry.failed_on, closed, id(view))
        if key not in self._known:
            self._known[key] = view, reasons_on(entry, view, closed)
        return self._known[key][1]


def left_by(row: SchedulingPass, worker: str, waiting: Collection[str]) -> WorkerView | None:
    """The worker as the pass saw it, with what it gave there; what it meant for jobs that still wait was refused."""
    if worker not in seen_by(row):
        return None
    given = [
        planned
        for planned in placements_of(row)
        if planned.job_id not in waiting and any(name == worker for name, _ in planned.assignments)
    ]
    return fleet_after(given, _alone(row, worker)).workers[0]


class Views:
    """One worker in one pass: as it saw it, with what it had given to the jobs before each place of its queue."""

    def __init__(self, row: SchedulingPass, worker: str) -> None:
        self._alone = _alone(row, worker)
        self._given = [
            planned for planned in placements_of(row) if any(name == worker for name, _ in planned.assignments)
        ]
        self._at: dict[int, WorkerView] = {}
        self.jobs = {*jobs_of(self._alone.workers[0]), *(planned.job_id for planned in self._given)}

    def at(self, position: int, seen: frozenset[str]) -> WorkerView:
        """The worker at that job's turn, as who sees these jobs may see it."""
        before = [planned for planned in self._given if planned.position < position]
        if len(before) not in self._at:
            self._at[len(before)] = as_seen(fleet_after(before, self._alone).workers[0], seen)
        return self._at[len(before)]


def _alone(row: SchedulingPass, worker: str) -> Fleet:
    return fleet_of({worker: seen_by(row)[worker]}, facts_by_id, at=row.started_at)
