"""A pass: look at everything once, decide the whole queue in order, write down what changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Event as Flag
from threading import local
from typing import cast

from django.db import transaction

from scheduler.core import schedule as core
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet
from scheduler.core.rollup import Gathering
from scheduler.core.spec import QueueEntry
from scheduler.memory import no_search_for_cycles
from scheduler.models import PassState, SchedulingPass
from scheduler.queue import Queued, queue_digest, take_queue
from scheduler.records import changes
from scheduler.services import ledger, rollup_rows
from scheduler.services.commits import Tally, Work, commit
from scheduler.services.digests import NOTHING, and_given, view_digest
from scheduler.services.history import prune_passes
from scheduler.services.lease import TERM, Lease, StalePassError, give_back, renew, take
from scheduler.services.phases import Phases
from scheduler.services.plans import Act, Plan, act_on, needs_refresh, plan_for
from scheduler.services.summaries import Summaries
from scheduler.services.taking import fleet_now, readable
from scheduler.services.turning import time_tells
from scheduler.snapshot import FleetSnapshot

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

BATCH = 50
MOST_REFRESHED = 200
"""Decisions whose figures one pass brings up to date; the others have their turn at the next."""
MOST_IN_A_ROW = 5
CONFIRM_EVERY = timedelta(seconds=10)
SLOW_SECONDS = 5.0
"""A pass that takes longer says in the log where its time went."""

_own = local()


@dataclass(frozen=True, slots=True)
class _Turn:
    """What everything in one pass shares."""

    lease: Lease
    clock: Clock
    phases: Phases


def _engine() -> Engine:
    """This thread's; it knows from earlier passes what classes of workers answer."""
    if not hasattr(_own, "engine"):
        _own.engine = Engine()
    return cast("Engine", _own.engine)


def run_passes(*, now: Clock, holder: str, ending: Flag | None = None) -> None:
    """Run a pass, and again while one was asked for meanwhile, a few times; `ending` stops it at the next batch."""
    for _ in range(MOST_IN_A_ROW):
        if not _run_once(now, holder, Phases(), ending)[1]:
            return


def run_pass(*, now: Clock | datetime, holder: str, phases: Phases | None = None) -> SchedulingPass | None:
    """One pass; None where another one is under way, or where there was nothing to decide.

    `phases` is told where its time went.
    """
    row, _ = _run_once(now if callable(now) else lambda: now, holder, phases or Phases(), None)
    return row


def _run_once(clock: Clock, holder: str, phases: Phases, ending: Flag | None) -> tuple[SchedulingPass | None, bool]:
    """The pass, and whether another one was asked for."""
    lease = take(holder=holder, now=clock(), ending=ending)
    if lease is None:
        return None, False
    row, again = None, False
    try:
        with no_search_for_cycles():
            row = _run(_Turn(lease, clock, phases))
    except StalePassError as stale:
        level = logging.INFO if lease.ending.is_set() else logging.WARNING
        log.log(level, "A pass came too late to commit: %s", stale)
    finally:
        again = give_back(lease)
        if sum(phases.seconds.values()) > SLOW_SECONDS:
            log.warning("A slow pass: %s", phases)
    return row, again or bool(row and row.refused)


def _run(turn: _Turn) -> SchedulingPass | None:
    now = turn.clock()
    with turn.phases.of("fleet"):
        snapshot = fleet_now(now)
    with turn.phases.of("queue"):
        queue = readable(take_queue(), turn.lease, now)
        if not queue:
            if ledger.is_last_unfinished():
                ledger.abandon_earlier(turn.lease, now)
            return None
        before = ledger.latest_pass()
        idle = before is not None and _nothing_changed(before, snapshot, queue)
    if before and idle:
        _confirm(before, snapshot, queue, turn)
        return None
    return _decide(before, snapshot, queue, turn)


def _nothing_changed(before: SchedulingPass, fleet: FleetSnapshot, queue: Sequence[Queued]) -> bool:
    """Whether deciding again would say the same: same rules, same queue, same fleet, and nothing came of it."""
    return (
        before.state == PassState.COMPLETE
        and not before.placed
        and not before.refused
        and before.rules == ledger.rules_revision()
        and before.queue_digest == queue_digest(queue)
        and all(queued.latest for queued in queue)
        and ledger.seen_by(before) == fleet.records
        and not time_tells(before, fleet, _entries(queue))
    )


def _confirm(before: SchedulingPass, snapshot: FleetSnapshot, queue: Sequence[Queued], turn: _Turn) -> None:
    """Nothing to decide; only bring figures up to date that an earlier pass left for later."""
    now = turn.clock()
    if now - before.confirmed_at >= CONFIRM_EVERY:
        SchedulingPass.objects.filter(pk=before.pk).update(confirmed_at=now)
    old = {
        queued.job_id: queued
        for queued in queue
        if queued.latest and queued.latest.pass_pk != before.pk and needs_refresh(queued, now)
    }
    if not old:
        return
    places = {entry.job_id: place for place, entry in enumerate(core.in_order_of_submission(_entries(queue)))}
    some = list(old.values())[:MOST_REFRESHED]
    summaries = Summaries()
    results = core.run_pass(_entries(some), snapshot.fleet(before.started_at), engine=_engine())
    plans = [
        plan_for(
            old[result.entry.job_id],
            replace(result, position=places[result.entry.job_id]),
            Act.REFRESH,
            view=before.view_digest,
            given=NOTHING,
            summaries=summaries,
        )
        for result in results
    ]
    _commit_all(plans, before, snapshot, turn)


def _decide(
    before: SchedulingPass | None, snapshot: FleetSnapshot, queue: Sequence[Queued], turn: _Turn
) -> SchedulingPass:
    lease, clock, started_at = turn.lease, turn.clock, snapshot.at
    with turn.phases.of("fleet"):
        view, fleet = view_digest(snapshot.records, started_at), snapshot.fleet()
    gathering = Gathering()
    plans, planned = _plans(queue, fleet, view, gathering, turn)
    number = before.number + 1 if before else 1
    with turn.phases.of("record"), transaction.atomic():
        renew(lease, now=clock())
        ledger.abandon_earlier(lease, clock())
        row = ledger.begin(
            lease=lease, number=number, records=snapshot.records, queue_digest=queue_digest(queue),
            delta=changes(ledger.seen_by(before) if before else None, snapshot.records),
            considered=len(queue), planned=planned, started_at=started_at, view_digest=view,
        )  # fmt: skip
    try:
        tally = _commit_all(plans, row, snapshot, turn)
    except StalePassError:
        ledger.finish(row, state=PassState.REFUSED, placed=0, refused=0, now=clock())
        raise
    with turn.phases.of("record"):
        ledger.finish(row, state=PassState.COMPLETE, placed=tally.placed, refused=tally.refused, now=clock())
        if row.keyframe:
            prune_passes()
    _roll_up(gathering, fleet, row, turn)
    return row


def _roll_up(gathering: Gathering, fleet: Fleet, row: SchedulingPass, turn: _Turn) -> None:
    """What keeps the queue waiting, once nobody waits any more for what this pass gave."""
    with turn.phases.of("roll-up"):
        account = gathering.account(fleet, engine=_engine().beside())
    with turn.phases.of("record"), transaction.atomic():
        renew(turn.lease, now=turn.clock())
        rollup_rows.keep(row, account, now=turn.clock())


def _plans(
    queue: Sequence[Queued], fleet: Fleet, view: str, gathering: Gathering, turn: _Turn
) -> tuple[list[Plan], list[ledger.PlannedPlacement]]:
    """What is to be written, and what is to be given to whom, both in the order of the queue."""
    by_id = {queued.job_id: queued for queued in queue}
    plans: list[Plan] = []
    planned: list[ledger.PlannedPlacement] = []
    renewed_at, refreshed, given, summaries = turn.clock(), 0, NOTHING, Summaries()
    for result in turn.phases.each("decide", core.run_pass(_entries(queue), fleet, engine=_engine())):
        now = turn.clock()
        if now - renewed_at > TERM / 3 or turn.lease.ending.is_set():
            renew(turn.lease, now=now)
            renewed_at = now
        queued = by_id[result.entry.job_id]
        with turn.phases.of("count"):
            gathering.add(result.entry, result.decision)
        with turn.phases.of("compare"):
            act = act_on(queued, result.decision, now)
        if act is None or (act is Act.REFRESH and refreshed >= MOST_REFRESHED):
            continue
        refreshed += act is Act.REFRESH
        with turn.phases.of("describe"):
            plans.append(plan_for(queued, result, act, view=view, given=given, summaries=summaries))
        if act is Act.PLACE:
            planned.append(ledger.planned_placement(result))
            given = and_given(given, planned[-1])
    return plans, planned


def _commit_all(plans: Sequence[Plan], pass_row: SchedulingPass, snapshot: FleetSnapshot, turn: _Turn) -> Tally:
    work = Work(lease=turn.lease, pass_row=pass_row, keys=snapshot.keys, clock=turn.clock)
    batches = (plans[start : start + BATCH] for start in range(0, len(plans), BATCH))
    with turn.phases.of("commit"):
        return sum((commit(batch, work) for batch in batches), Tally())


def _entries(queue: Iterable[Queued]) -> list[QueueEntry]:
    return [queued.entry for queued in queue if queued.entry]
