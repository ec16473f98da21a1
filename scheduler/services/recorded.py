"""Kept decisions, whole again: the view they were made from is rebuilt, and the same rules are asked the same."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.core.decision import SchedulingDecision
from scheduler.core.fleet import Fleet, TaskLoad, WorkerView
from scheduler.core.schedule import schedule
from scheduler.core.spec import QueueEntry
from scheduler.facts import facts_by_id
from scheduler.memory import remembered, trim
from scheduler.models import Decision, Job, SchedulingPass
from scheduler.queue import entry_of
from scheduler.records import fleet_of
from scheduler.services.digests import decision_digest, given_digest, view_digest
from scheduler.services.ledger import PlannedPlacement, ViewKey, placements_of, rules_revision, seen_by, view_key

MOST_EXPANDED = 32
MOST_FLEETS = 4

Key = tuple[int, int, int, str]
_expanded: OrderedDict[Key, Recorded] = remembered(OrderedDict())
_fleets: OrderedDict[ViewKey, Fleet] = remembered(OrderedDict())


@dataclass(frozen=True, slots=True)
class Recorded:
    """A kept decision in full, with what it was made from."""

    row: Decision
    pass_: SchedulingPass
    entry: QueueEntry
    fleet: Fleet
    """As the pass saw it, less what it gave to jobs before this one."""
    decision: SchedulingDecision
    intact: bool
    """It was made again from the same things and says the same of every candidate; figures too under `same_rules`."""
    same_rules: bool
    """Whether the rules are still those that decided; then it is what was decided, byte for byte."""


def recorded(job: Job) -> Recorded | None:
    """The job's latest decision in full; None before the first."""
    row = Decision.objects.filter(job=job).select_related("pass_row").order_by("-pk").first()
    return recorded_at(row) if row else None


def recorded_at(row: Decision) -> Recorded:
    """This decision in full, remembered by this process for a while."""
    key = (row.pk, row.pass_row_id, row.position, row.digest)
    found = _expanded.get(key)
    if found is None:
        found = _expanded[key] = _expand(row)
        trim(_expanded, MOST_EXPANDED)
    return found


def view_seen_by(pass_row: SchedulingPass) -> Fleet:
    """The fleet at the start of a pass."""
    key = view_key(pass_row)
    fleet = _fleets.get(key)
    if fleet is None:
        fleet = _fleets[key] = fleet_of(seen_by(pass_row), facts_by_id, at=pass_row.started_at)
        trim(_fleets, MOST_FLEETS)
    return fleet


def _expand(row: Decision) -> Recorded:
    pass_row = row.pass_row
    entry = entry_of(row.job, holders=row.holders, failed_on=row.failed_on)
    before = [planned for planned in placements_of(pass_row) if planned.position < row.position]
    fleet = fleet_after(before, view_seen_by(pass_row))
    decision = schedule(entry, fleet, entry.job_id)
    digest = decision_digest(
        view=view_digest(seen_by(pass_row), pass_row.started_at), given=given_digest(before), entry=entry,
        decision=decision,
    )  # fmt: skip
    return Recorded(
        row, pass_row, entry, fleet, decision, digest == row.digest, same_rules=pass_row.rules == rules_revision()
    )


def fleet_after(placements: Sequence[PlannedPlacement], fleet: Fleet) -> Fleet:
    """The fleet with these placements of a pass on it."""
    if not placements:
        return fleet
    given: defaultdict[str, list[TaskLoad]] = defaultdict(list)
    for planned in placements:
        for worker, devices in planned.assignments:
            given[worker].append(_load(planned, devices))
    return Fleet(tuple(_holding(worker, given.get(worker.id, [])) for worker in fleet.workers))


def _load(planned: PlannedPlacement, devices: Sequence[int]) -> TaskLoad:
    return TaskLoad(
        job_id=planned.job_id, devices=tuple(devices), cpu_millicores=planned.cpu_millicores,
        memory_bytes=planned.memory_bytes, disk_bytes=planned.disk_bytes,
    )  # fmt: skip


def _holding(worker: WorkerView, loads: list[TaskLoad]) -> WorkerView:
    for load in loads:
        worker = worker.holding(load)
    return worker
