"""How near a job is to its start, as numbers that are kept with every decision: what is free of what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.answers import DEVICES_NOW, FEW, open_groups
from scheduler.core.decision import Candidate, SchedulingDecision
from scheduler.core.spec import QueueEntry


@dataclass(frozen=True, slots=True)
class Progress:
    """The most that could be given to the job at once, and how much of it the job needs."""

    free: int
    needed: int
    unit: str
    """`devices` on one worker, or `workers` of one torch version for a gang."""


def progress(entry: QueueEntry, decision: SchedulingDecision) -> Progress | None:
    """Of a job that waits for devices or for workers of a gang; None for any other.

    As the answer does, it looks at few of the workers that have the fewest obstacles. A device counts as free only
    where it could be given out: none does on a worker that something else keeps from the job.
    """
    if entry.spec.distributed and decision.group_reasons:
        best = max(decision.group_reasons, key=lambda reason: reason.free)
        return Progress(best.free, best.needed, "workers")
    needed, groups = entry.spec.resources.gpus, open_groups(decision)
    if not needed or not groups or decision.assignments:
        return None
    fewest = min(len(group.codes) for group in groups)
    near = sorted(worker for group in groups if len(group.codes) == fewest for worker in group.workers)
    return Progress(max(_free(decision.candidate(worker)) for worker in near[:FEW]), needed, "devices")


def _free(candidate: Candidate) -> int:
    if not all(reason.code in DEVICES_NOW for reason in candidate.reasons):
        return 0
    return max((reason.have or 0 for reason in candidate.reasons), default=0)
