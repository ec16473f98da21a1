"""Kept decisions, whole again: the view they were made from is rebuilt, and the same rules are asked the same."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
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
from scheduler.services.ledger import placements_of, seen_by
from scheduler.services.summaries import digest_of

MOST_EXPANDED = 32
MOST_FLEETS = 4

Key = tuple[int, int, int, str]
_expanded: OrderedDict[Key, Recorded] = remembered(OrderedDict())
_fleets: OrderedDict[int, Fleet] = remembered(OrderedDict())


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
    """It is what was decided then, byte for byte; False after the rules themselves have changed."""


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
    fleet = _fleets.get(pass_row.pk)
    if fleet is None:
        fleet = _fleets[pass_row.pk] = fleet_of(seen_by(pass_row), facts_by_id)
        trim(_fleets, MOST_FLEETS)
    return fleet


def _expand(row: Decision) -> Recorded:
    entry = entry_of(row.job, holders=row.holders, failed_on=row.failed_on)
    fleet = _as_seen_at(row.pass_row, row.position)
    decision = schedule(entry, fleet, entry.job_id)
    return Recorded(row, row.pass_row, entry, fleet, decision, intact=digest_of(decision) == row.digest)


def _as_seen_at(pass_row: SchedulingPass, position: int) -> Fleet:
    """The fleet when that place in the queue had its turn."""
    fleet, given = view_seen_by(pass_row), _given_before(pass_row, position)
    return Fleet(tuple(_holding(worker, given.get(worker.id, [])) for worker in fleet.workers)) if given else fleet


def _given_before(pass_row: SchedulingPass, position: int) -> Mapping[str, list[TaskLoad]]:
    given: defaultdict[str, list[TaskLoad]] = defaultdict(list)
    for planned in placements_of(pass_row):
        if planned["position"] < position:
            cpu, memory, disk = planned["load"]
            for worker, devices in planned["assignments"]:
                given[worker].append(TaskLoad(
                    job_id=planned["job_id"], devices=tuple(devices),
                    cpu_millicores=cpu, memory_bytes=memory, disk_bytes=disk,
                ))  # fmt: skip
    return given


def _holding(worker: WorkerView, loads: list[TaskLoad]) -> WorkerView:
    for load in loads:
        worker = worker.holding(load)
    return worker
