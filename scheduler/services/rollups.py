"""The whole queue at once: what keeps it waiting, over the view that the latest pass recorded."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from scheduler.core.fleet import Fleet
from scheduler.core.rollup import RollUp, roll_up
from scheduler.core.schedule import run_pass
from scheduler.memory import remembered, trim
from scheduler.models import PassState, SchedulingPass
from scheduler.queue import queue_digest, take_queue
from scheduler.services.ledger import placements_of, rules_revision
from scheduler.services.recorded import fleet_after, view_seen_by

MOST_KEPT = 2

Key = tuple[int, str, str]
_found: OrderedDict[Key, RollUp] = remembered(OrderedDict())
_one_at_a_time = Lock()


@dataclass(frozen=True, slots=True)
class QueueRollUp:
    """The roll-up of the queue as it is now, and the pass over whose view it was made."""

    pass_: SchedulingPass
    found: RollUp


def roll_up_now() -> QueueRollUp | None:
    """Decide the present queue anew on what the latest complete pass saw and gave; None before the first pass.

    Nothing is written. It costs one pass and at most eighteen more over the first 2,000 jobs that don't start; the
    same question about the same queue is answered from memory, and one is worked on at a time.
    """
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None:
        return None
    queue = [queued for queued in take_queue() if queued.entry is not None]
    key = (row.pk, queue_digest(queue), rules_revision())
    with _one_at_a_time:
        if key not in _found:
            waiting = {queued.job_id for queued in queue}
            fleet = _fleet(row, waiting)
            entries = [queued.entry for queued in queue if queued.entry is not None]
            decided = ((result.entry, result.decision) for result in run_pass(entries, fleet))
            _found[key] = roll_up(decided, fleet)
            trim(_found, MOST_KEPT)
        return QueueRollUp(row, _found[key])


def _fleet(row: SchedulingPass, waiting: set[str]) -> Fleet:
    """What the pass saw, with what it gave on it; what it meant to give to jobs that still wait was refused."""
    given = [planned for planned in placements_of(row) if planned.job_id not in waiting]
    return fleet_after(given, view_seen_by(row))
