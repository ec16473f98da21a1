"""Kept decisions, whole again: the view they were made from is rebuilt, and the same rules are asked the same."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter

from scheduler.core.decision import SchedulingDecision
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, TaskLoad, WorkerView
from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry
from scheduler.facts import facts_by_id
from scheduler.memory import once, remembered
from scheduler.models import Decision, Job, SchedulingPass
from scheduler.queue import entry_of
from scheduler.records import Known, fleet_of
from scheduler.services.digests import NOTHING, and_given, decision_digest, view_digest
from scheduler.services.ledger import PlannedPlacement, ViewKey, placements_of, rules_revision, seen_by, view_key

MOST_EXPANDED = 32
MOST_FLEETS = 12
MOST_TURNS = 12
MOST_KNOWN = 3
"""How many times as many workers as a fleet has are remembered at most."""

Key = tuple[int, int, int, str]
_expanded: OrderedDict[Key, Recorded] = remembered(OrderedDict())
_fleets: OrderedDict[ViewKey, Fleet] = remembered(OrderedDict())
_known: dict[str, Known] = remembered({})
"""Each worker as it was last seen: of one that is as it was, nothing is found again."""
_digests: OrderedDict[ViewKey, str] = remembered(OrderedDict())
_engines: OrderedDict[ViewKey, Engine] = remembered(OrderedDict())
"""Each knows one fleet, and all of them what is known of classes of workers."""
_plans: OrderedDict[ViewKey, Plans] = remembered(OrderedDict())
_turns: OrderedDict[tuple[ViewKey, str], tuple[Fleet, Scene]] = remembered(OrderedDict())
"""What one pass saw, less what it had given by then: jobs that got nothing share it."""
_engine = Engine()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A kept decision in full, with what it was made from."""

    row: Decision
    pass_: SchedulingPass
    entry: QueueEntry
    fleet: Fleet
    """As the pass saw it, less what it gave to jobs before this one."""
    scene: Scene
    """The job at its turn in the pass, on that fleet."""
    decision: SchedulingDecision
    intact: bool
    """It was made again from the same things and says the same of every candidate; figures too under `same_rules`."""
    same_rules: bool
    """Whether the rules are still those that decided; then it is what was decided, byte for byte."""


class Plans:
    """What a pass meant to give, in order, with the digest of what had been given before each."""

    def __init__(self, planned: Sequence[PlannedPlacement]) -> None:
        self._planned = planned
        self._digests = list(accumulate(planned, and_given, initial=NOTHING))

    def before(self, position: int) -> tuple[Sequence[PlannedPlacement], str]:
        """What jobs before that place in the queue were given, and its digest."""
        count = bisect_left(self._planned, position, key=attrgetter("position"))
        return self._planned[:count], self._digests[count]


def recorded(job: Job) -> Recorded | None:
    """The job's latest decision in full; None before the first."""
    row = Decision.objects.filter(job=job).select_related("pass_row").order_by("-pk").first()
    return recorded_at(row) if row else None


def recorded_at(row: Decision) -> Recorded:
    """This decision in full, remembered by this process for a while."""
    key = (row.pk, row.pass_row_id, row.position, row.digest)
    return once(_expanded, key, MOST_EXPANDED, lambda: _expand(row))


def view_seen_by(pass_row: SchedulingPass) -> Fleet:
    """The fleet at the start of a pass."""
    return once(_fleets, view_key(pass_row), MOST_FLEETS, lambda: _seen_by(pass_row))


def _seen_by(pass_row: SchedulingPass) -> Fleet:
    records = seen_by(pass_row)
    if len(_known) > MOST_KNOWN * len(records):
        _known.clear()
    return fleet_of(records, facts_by_id, _known, at=pass_row.started_at)


def _expand(row: Decision) -> Recorded:
    pass_row = row.pass_row
    entry = entry_of(row.job, holders=row.holders, failed_on=row.failed_on)
    before, given = _planned_in(pass_row).before(row.position)
    fleet, scene = _turn(entry, pass_row, before, given)
    decision = scene.decided()
    digest = decision_digest(view=_digest_of(pass_row), given=given, entry=entry, decision=decision)
    return Recorded(
        row, pass_row, entry, fleet, scene, decision, digest == row.digest,
        same_rules=pass_row.rules == rules_revision(),
    )  # fmt: skip


def scene_on(entry: QueueEntry, fleet: Fleet) -> Scene:
    """A job on a fleet; what is known of classes of workers needs not be found again."""
    return Scene(entry, fleet, engine=_engine.beside())


def _turn(
    entry: QueueEntry, pass_row: SchedulingPass, before: Sequence[PlannedPlacement], given: str
) -> tuple[Fleet, Scene]:
    """What the pass had left when so much was given, and the job there."""

    def first() -> tuple[Fleet, Scene]:
        left = fleet_after(before, view_seen_by(pass_row))
        return left, Scene(entry, left, engine=_engine_of(pass_row))

    fleet, scene = once(_turns, (view_key(pass_row), given), MOST_TURNS, first)
    return fleet, scene.beside(entry)


def _engine_of(pass_row: SchedulingPass) -> Engine:
    return once(_engines, view_key(pass_row), MOST_FLEETS, _engine.beside)


def _planned_in(pass_row: SchedulingPass) -> Plans:
    return once(_plans, view_key(pass_row), MOST_FLEETS, lambda: Plans(placements_of(pass_row)))


def _digest_of(pass_row: SchedulingPass) -> str:
    """Of what the pass saw, as it can be seen again."""
    return once(_digests, view_key(pass_row), MOST_FLEETS, lambda: view_digest(seen_by(pass_row), pass_row.started_at))


def fleet_after(placements: Sequence[PlannedPlacement], fleet: Fleet) -> Fleet:
    """The fleet with these placements of a pass on it."""
    if not placements:
        return fleet
    given: defaultdict[str, list[TaskLoad]] = defaultdict(list)
    for planned in placements:
        for worker, devices in planned.assignments:
            given[worker].append(_load(planned, devices))
    after = ((worker, given.get(worker.facts.id)) for worker in fleet.workers)
    return Fleet(tuple([_holding(worker, loads) if loads else worker for worker, loads in after]))


def _load(planned: PlannedPlacement, devices: Sequence[int]) -> TaskLoad:
    return TaskLoad(
        job_id=planned.job_id, devices=tuple(devices), cpu_millicores=planned.cpu_millicores,
        memory_bytes=planned.memory_bytes, disk_bytes=planned.disk_bytes,
    )  # fmt: skip


def _holding(worker: WorkerView, loads: list[TaskLoad]) -> WorkerView:
    for load in loads:
        worker = worker.holding(load)
    return worker
