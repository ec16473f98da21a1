"""What time alone changes: a waiting job whose limit fits before a reservation no more, though nothing happened."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.core.spec import QueueEntry
from scheduler.core.windows import any_in_the_way, turns_with_time
from scheduler.models import SchedulingPass
from scheduler.services.plans import REFRESH_AFTER
from scheduler.snapshot import FleetSnapshot


def time_tells(before: SchedulingPass, fleet: FleetSnapshot, entries: Iterable[QueueEntry]) -> bool:
    """Whether the same queue on the same fleet is to be decided anew because it is later.

    Either another answer may come out, or it was told some time ago how long is left before a reservation.
    """
    if not any(record.upcoming for record in fleet.records.values()):
        return False
    windows = {window for view in fleet.fleet().workers for window in view.facts.upcoming}
    limits = {entry.spec.limit_s for entry in entries}
    if turns_with_time(limits, windows, before.started_at, fleet.at):
        return True
    return fleet.at - before.started_at >= REFRESH_AFTER and any_in_the_way(limits, windows, fleet.at)
