"""What became of one job, in order: its kept decisions with what they kept of their steps, its attempts, its ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from scheduler.models import Attempt, Decision, Job, JobState, SchedulingPass, Task
from scheduler.services.visibility import teller_for


@dataclass(frozen=True, slots=True)
class Decided:
    """One kept decision. `first_pass` is None where it is not known which pass first decided so."""

    key: int
    at: datetime
    outcome: str
    lead: str
    first_pass: int | None
    steps: Mapping[str, int]
    near: Mapping[str, Any] | None
    """`free` of `needed`, and the `unit`."""
    before: Decided | None
    confirmed: int
    """How many later passes decided the same before something changed."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt as it went."""

    attempt: Attempt
    tasks: tuple[Task, ...]

    @property
    def started_at(self) -> datetime | None:
        """When the first of its tasks began."""
        return min((task.started_at for task in self.tasks if task.started_at), default=None)


def decided(user: Any, job: Job) -> tuple[Decided, ...]:
    """The job's kept decisions, newest first, as this user may read them: two queries, one more for hidden jobs."""
    rows = list(
        Decision.objects.filter(job=job).select_related("pass_row").order_by("-pk").only(
            "made_at", "outcome", "summary", "pass_row__number", "pass_row__started_at"
        )
    )  # fmt: skip
    tell = teller_for(user, [str(row.summary["answer"]["lead"]) for row in rows])
    latest = SchedulingPass.objects.order_by("-number").values_list("number", flat=True).first()
    found: list[Decided] = []
    numbers = [_first_pass(row) for row in reversed(rows)]
    ends = [*numbers[1:], latest + 1 if latest and job.state == JobState.QUEUED else None]
    for row, number, end in zip(reversed(rows), numbers, ends, strict=True):
        found.append(
            Decided(
                key=row.pk, at=row.made_at, outcome=row.outcome, lead=tell(str(row.summary["answer"]["lead"])),
                first_pass=number, steps=row.summary.get("steps", {}), near=row.summary.get("near"),
                before=found[-1] if found else None, confirmed=end - number - 1 if end and number else 0,
            )
        )  # fmt: skip
    return tuple(reversed(found))


def _first_pass(row: Decision) -> int | None:
    number = row.summary.get("pass")
    if number is None and not row.refreshed:
        return row.pass_row.number
    return int(number) if number is not None else None


def ran(job: Job) -> tuple[Ran, ...]:
    """Its attempts with their tasks, newest first: two queries."""
    attempts = list(Attempt.objects.filter(job=job).order_by("-number"))
    tasks: dict[int, list[Task]] = {attempt.pk: [] for attempt in attempts}
    for task in Task.objects.filter(attempt__job=job).select_related("worker").order_by("rank"):
        tasks[task.attempt_id].append(task)
    return tuple(Ran(attempt, tuple(tasks[attempt.pk])) for attempt in attempts)


def turns(entries: Sequence[Decided]) -> tuple[tuple[datetime, int, int, str], ...]:
    """(since, free, needed, unit) wherever that changed, oldest first, of the decisions that say how near it was."""
    points = [(one.at, one.near["free"], one.near["needed"], one.near["unit"]) for one in reversed(entries) if one.near]
    return tuple(points[:1] + [now for before, now in pairwise(points) if before[1:] != now[1:]])
