"""Ask everything of one worker and keep every answer: the rule as it reads, one job and one worker at a time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from scheduler.core.availability import AVAILABILITY, Setting
from scheduler.core.capability import CAPABILITY
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import QueueEntry


def compatibility_reasons(
    entry: QueueEntry, worker: WorkerView, codes: Iterable[Code] = CAPABILITY
) -> tuple[Reason, ...]:
    """Why this worker could never run this job, as both stand: every reason, in the order of the checks.

    Where it is known already which `codes` come out, only their checks are asked again.
    """
    return tuple(chain.from_iterable(CAPABILITY[code](entry, worker.facts) for code in codes))


def availability_reasons(
    entry: QueueEntry, worker: WorkerView, setting: Setting, codes: Iterable[Code] = AVAILABILITY
) -> tuple[Reason, ...]:
    """Why this compatible worker cannot run this job now: every reason, in the order of the checks."""
    checks = dict.fromkeys(AVAILABILITY[code] for code in codes)
    return tuple(chain.from_iterable(check(entry, worker, setting) for check in checks))
