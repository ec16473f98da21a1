"""Ask everything of one worker and keep every answer: the rule as it reads, one job and one worker at a time."""

from __future__ import annotations

from itertools import chain

from scheduler.core.availability import AVAILABILITY, Setting
from scheduler.core.capability import CAPABILITY
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Reason
from scheduler.core.spec import QueueEntry


def compatibility_reasons(entry: QueueEntry, worker: WorkerView) -> tuple[Reason, ...]:
    """Why this worker could never run this job, as both stand: every reason, in the order of the checks."""
    return tuple(chain.from_iterable(check(entry, worker.facts) for check in CAPABILITY))


def availability_reasons(entry: QueueEntry, worker: WorkerView, setting: Setting) -> tuple[Reason, ...]:
    """Why this compatible worker cannot run this job now: every reason, in the order of the checks."""
    return tuple(chain.from_iterable(check(entry, worker, setting) for check in AVAILABILITY))
