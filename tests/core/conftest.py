"""Every decision is asked for twice: of the plain rule, and of the passes that find it by sets of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from scheduler.core import rule
from scheduler.core.decision import SchedulingDecision
from scheduler.core.fleet import WorkerView
from scheduler.core.schedule import schedule
from scheduler.core.spec import QueueEntry

Decide = Callable[[QueueEntry, Iterable[WorkerView]], SchedulingDecision]


def by_sets(entry: QueueEntry, workers: Iterable[WorkerView]) -> SchedulingDecision:
    return schedule(entry, workers, entry.job_id)


@pytest.fixture(params=[rule.decide, by_sets], ids=["by the plain rule", "by sets of workers"])
def decide(request: pytest.FixtureRequest) -> Decide:
    return request.param  # type: ignore[no-any-return]
