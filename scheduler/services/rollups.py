"""The whole queue at once: what keeps it waiting, over the view that the latest pass recorded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from scheduler.core.fleet import Fleet
from scheduler.core.levers import Kind
from scheduler.core.rollup import Decided, RollUp, left_over, roll_up
from scheduler.core.schedule import run_pass
from scheduler.memory import remembered, trim
from scheduler.models import PassState, SchedulingPass
from scheduler.queue import Queued, queue_digest, take_queue
from scheduler.services.ledger import placements_of, rules_revision
from scheduler.services.recorded import fleet_after, view_seen_by
from scheduler.services.visibility import seen_ids, sees_all

MOST_KEPT = 2

Key = tuple[int, str, str, frozenset[str]]
_found: OrderedDict[Key, RollUp] = remembered(OrderedDict())
_one_at_a_time = Lock()


@dataclass(frozen=True, slots=True)
class QueueRollUp:
    """The roll-up of the queue as it is now, and the pass over whose view it was made."""

    pass_: SchedulingPass
    found: RollUp


def roll_up_now(user: Any) -> QueueRollUp | None:
    """Decide the present queue anew on what the latest complete pass saw and gave; None before the first pass.

    Only the jobs that this user sees are counted and named; the others take what they would be given.

    Nothing is written. It costs one pass and at most eighteen more over the first 2,000 jobs that don't start; the
    same question about the same queue is answered from memory, and one is worked on at a time.
    """
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None:
        return None
    queue = [queued for queued in take_queue() if queued.entry is not None]
    hidden = _hidden_in(queue, user)
    key = (row.pk, queue_digest(queue), rules_revision(), hidden)
    with _one_at_a_time:
        if key not in _found:
            waiting = {queued.job_id for queued in queue}
            fleet = left_by(row, waiting)
            entries = [queued.entry for queued in queue if queued.entry is not None]
            decided = [(result.entry, result.decision) for result in run_pass(entries, fleet)]
            _found[key] = _roll_up_seen(decided, fleet, hidden)
            trim(_found, MOST_KEPT)
        found = _found[key]
    return QueueRollUp(row, found if sees_all(user) else _without_others(found, user))


def _hidden_in(queue: Iterable[Queued], user: Any) -> frozenset[str]:
    """The ids of those queued jobs that this user does not see."""
    if sees_all(user):
        return frozenset()
    ids = frozenset(queued.job_id for queued in queue)
    return ids - seen_ids(user, ids)


def _roll_up_seen(decided: Sequence[Decided], fleet: Fleet, hidden: frozenset[str]) -> RollUp:
    """The roll-up of the others; what is hidden stands on the fleet with what it was given."""
    if not hidden:
        return roll_up(decided, fleet)
    seen = [(entry, decision) for entry, decision in decided if entry.job_id not in hidden]
    given = ((entry, decision) for entry, decision in decided if entry.job_id in hidden)
    return roll_up(seen, left_over(fleet, given))


def _without_others(found: RollUp, user: Any) -> RollUp:
    """Without the levers that name running jobs which this user does not see."""
    seen = seen_ids(user, (lever.subject for lever in found.levers if lever.kind is Kind.RELEASE))
    kept = (lever for lever in found.levers if lever.kind is not Kind.RELEASE or lever.subject in seen)
    return replace(found, levers=tuple(kept))


def left_by(row: SchedulingPass, waiting: set[str]) -> Fleet:
    """What the pass saw, with what it gave on it; what it meant to give to jobs that still wait was refused."""
    given = [planned for planned in placements_of(row) if planned.job_id not in waiting]
    return fleet_after(given, view_seen_by(row))
