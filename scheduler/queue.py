"""The queue as a pass sees it: every queued job in order, its document parsed once in this process."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import Group

from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec, QueueEntry
from scheduler.facts import MOST_NAMED
from scheduler.memory import remembered, trim
from scheduler.models import Decision, Job, JobState, Task, TaskState

MOST_PARSED = 20_000

_parsed: OrderedDict[int, JobSpec | DocumentError] = remembered(OrderedDict())


@dataclass(frozen=True, slots=True)
class Queued:
    """One queued job. `entry` is None where its stored document is broken; `broken` says how."""

    job: Job
    entry: QueueEntry | None
    broken: str = ""

    @property
    def latest(self) -> Decision | None:
        """Its latest decision, without the summary."""
        return self.job.decision


def take_queue() -> tuple[Queued, ...]:
    """Every queued job, first submitted first: four queries."""
    jobs = list(
        Job.objects.filter(state=JobState.QUEUED)
        .select_related("owner", "decision")
        .only(*_JOB_FIELDS)
        .order_by("submitted_at", "pk")
    )
    teams, failed_on = _teams(), _failed_on()
    specs = _specs([job.pk for job in jobs])
    return tuple(
        _queued(job, specs[job.pk], teams.get(job.owner_id, ()), failed_on.get(job.pk, ()))
        for job in jobs
        if job.pk in specs
    )


_JOB_FIELDS = (
    "job_id", "submitted_at", "state", "state_since", "owner__username", "decision__job", "decision__pass_row",
    "decision__position", "decision__outcome", "decision__kept", "decision__fingerprint", "decision__digest",
    "decision__made_at", "decision__seen_at",
)  # fmt: skip


def entry_of(job: Job, *, holders: Sequence[str], failed_on: Sequence[str]) -> QueueEntry:
    """A job's queue entry with the holders and failures of some earlier moment. Raises `DocumentError`."""
    return _entry(job, parse_job(job.spec), tuple(holders), tuple(failed_on))


def holders_of(username: str, teams: Sequence[str]) -> tuple[str, ...]:
    """Whose reservations count for a job of this user."""
    return (f"user:{username}", *(f"team:{team}" for team in sorted(teams)))


def queue_digest(queue: Sequence[Queued]) -> str:
    """SHA-256 (hex) over everything about the queue that a decision depends on."""
    digest = hashlib.sha256()
    for queued in queue:
        if queued.entry:
            entry = queued.entry
            digest.update(repr((entry.job_id, entry.holders, entry.failed_on)).encode())
    return digest.hexdigest()


def _queued(job: Job, spec: JobSpec | DocumentError, teams: Sequence[str], failed_on: Sequence[str]) -> Queued:
    if isinstance(spec, DocumentError):
        return Queued(job, None, broken=str(spec))
    return Queued(job, _entry(job, spec, holders_of(job.owner.get_username(), teams), tuple(sorted(failed_on))))


def _entry(job: Job, spec: JobSpec, holders: tuple[str, ...], failed_on: tuple[str, ...]) -> QueueEntry:
    return QueueEntry(
        job_id=job.job_id, spec=spec, submitted_at=_stamp(job.submitted_at), holders=holders, failed_on=failed_on
    )


def _stamp(moment: datetime) -> str:
    """At full length and in UTC, so that text compares as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _teams() -> Mapping[int, list[str]]:
    rows = Group.objects.filter(user__jobs__state=JobState.QUEUED).values_list("user__pk", "name").distinct()
    return _gathered(rows)


def _failed_on() -> Mapping[int, list[str]]:
    rows = Task.objects.filter(attempt__job__state=JobState.QUEUED, state=TaskState.FAILED)
    return _gathered(rows.values_list("attempt__job_id", "worker__name").distinct())


def _gathered(rows: Any) -> Mapping[int, list[str]]:
    by_key: defaultdict[int, list[str]] = defaultdict(list)
    for key, value in rows:
        by_key[key].append(value)
    return by_key


def _specs(ids: list[int]) -> Mapping[int, JobSpec | DocumentError]:
    missing = {pk for pk in ids if pk not in _parsed}
    if missing:
        rows = Job.objects.values_list("pk", "spec")
        rows = rows.filter(pk__in=missing) if len(missing) <= MOST_NAMED else rows.filter(state=JobState.QUEUED)
        for pk, document in rows.iterator():
            if pk in missing:
                _parsed[pk] = _parse(document)
    found = {pk: _parsed[pk] for pk in ids if pk in _parsed}
    trim(_parsed, max(MOST_PARSED, len(ids)))
    return found


def _parse(document: object) -> JobSpec | DocumentError:
    try:
        return parse_job(document)
    except DocumentError as error:
        return error
