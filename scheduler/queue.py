"""The queue as a pass sees it: every queued job in order, its document parsed once in this process."""

from __future__ import annotations

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet

from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec, QueueEntry
from scheduler.facts import MOST_NAMED
from scheduler.memory import remembered, trim
from scheduler.models import Job, JobState, Task, TaskState
from scheduler.models.attempts import ORDERLY

MOST_PARSED = 20_000


class Parsed(NamedTuple):
    """What never changes about a job: its spec, or what is wrong with its stored document, and its submission."""

    spec: JobSpec | DocumentError
    submitted_at: str


class Latest(NamedTuple):
    """What a pass needs of a job's latest decision."""

    fingerprint: str
    pass_pk: int
    seen_at: datetime


class Queued(NamedTuple):
    """One queued job. `entry` is None where its stored document is broken; `broken` says how."""

    pk: int
    job_id: str
    entry: QueueEntry | None
    latest: Latest | None
    broken: str = ""


_parsed: OrderedDict[int, Parsed] = remembered(OrderedDict())
_entries: OrderedDict[int, QueueEntry] = remembered(OrderedDict())


def take_queue() -> tuple[Queued, ...]:
    """Every queued job, first submitted first: four queries, one fewer when all of them were seen before.

    Plain tuples, because with thousands of jobs waiting this is most of what an idle pass does.
    """
    return _queue_of(Job.objects.filter(state=JobState.QUEUED))


def waiting_before(job: Job, *, most: int) -> tuple[Queued, ...]:
    """The first of the queued jobs that stand before this one; as many queries."""
    sooner = Q(submitted_at__lt=job.submitted_at) | Q(submitted_at=job.submitted_at, pk__lt=job.pk)
    return _queue_of(Job.objects.filter(sooner, state=JobState.QUEUED), most)


def _queue_of(jobs: QuerySet[Job], most: int | None = None) -> tuple[Queued, ...]:
    rows = list(
        jobs.order_by("submitted_at", "pk").values_list(
            "pk", "job_id", "owner_id", "owner__username", "team__name",
            "decision__fingerprint", "decision__pass_row", "decision__seen_at",
        )[:most]
    )  # fmt: skip
    teams, failed_on = _teams(), _failed_on()
    parsed = _parsed_documents([row[0] for row in rows])
    queue = []
    for pk, job_id, owner, username, team, fingerprint, pass_pk, seen_at in rows:
        if pk in parsed:
            holders = holders_of(username, [team] if team else teams.get(owner, ()))
            decided = Latest(fingerprint, pass_pk, seen_at) if fingerprint else None
            queue.append(_queued(pk, job_id, parsed[pk], holders, tuple(failed_on.get(pk, ())), decided))
    trim(_entries, max(MOST_PARSED, len(rows)))
    return tuple(queue)


def entry_of(job: Job, *, holders: Sequence[str], failed_on: Sequence[str]) -> QueueEntry:
    """A job's queue entry with the holders and failures of some earlier moment. Raises `DocumentError`."""
    parsed = Parsed(parse_job(job.spec), _stamp(job.submitted_at))
    return _entry(job.job_id, parsed, tuple(holders), tuple(failed_on))


def holders_of(username: str, teams: Sequence[str]) -> tuple[str, ...]:
    """Whose reservations count for a job of this user: its team's, or those of all of the user's where it has none."""
    return (f"user:{username}", *(f"team:{team}" for team in sorted(teams)))


def own_reservations(job: Job, teams: Sequence[str]) -> frozenset[str]:
    """The holders whose reservations a job may use: itself, its owner, its team; `teams`: all of the owner's."""
    own = [job.team.name] if job.team else teams
    return frozenset((f"job:{job.job_id}", *holders_of(job.owner.get_username(), own)))


def queue_digest(queue: Sequence[Queued]) -> str:
    """SHA-256 (hex) over everything about the queue that a decision depends on."""
    digest = hashlib.sha256()
    for queued in queue:
        if queued.entry:
            digest.update(repr((queued.job_id, queued.entry.holders, queued.entry.failed_on)).encode())
    return digest.hexdigest()


def _queued(
    pk: int, job_id: str, parsed: Parsed, holders: tuple[str, ...], failed_on: tuple[str, ...], latest: Latest | None
) -> Queued:
    if isinstance(parsed.spec, DocumentError):
        return Queued(pk, job_id, None, latest, broken=str(parsed.spec))
    entry = _entries.get(pk)
    if entry is None or (entry.holders, entry.failed_on) != (holders, failed_on):
        entry = _entries[pk] = _entry(job_id, parsed, holders, failed_on)
    return Queued(pk, job_id, entry, latest)


def _entry(job_id: str, parsed: Parsed, holders: tuple[str, ...], failed_on: tuple[str, ...]) -> QueueEntry:
    return QueueEntry(
        job_id=job_id, spec=cast("JobSpec", parsed.spec), submitted_at=parsed.submitted_at, holders=holders,
        failed_on=tuple(sorted(failed_on)),
    )  # fmt: skip


def _stamp(moment: datetime) -> str:
    """At full length and in UTC, so that text compares as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _teams() -> Mapping[int, list[str]]:
    rows = Group.objects.filter(user__jobs__state=JobState.QUEUED).values_list("user__pk", "name").distinct()
    return _gathered(rows)


def _failed_on() -> Mapping[int, list[str]]:
    """Where an attempt failed, was lost, or was declined: elsewhere it may do better. What was stopped in order did not
    fail: it may come back to the same worker.
    """
    bad = Q(state__in=(TaskState.FAILED, TaskState.LOST)) | (Q(state=TaskState.REVOKED) & ~Q(failure_code=""))
    rows = Task.objects.filter(bad, attempt__job__state=JobState.QUEUED).exclude(failure_code__in=ORDERLY)
    return _gathered(rows.order_by("worker__name").values_list("attempt__job_id", "worker__name").distinct())


def _gathered(rows: Any) -> Mapping[int, list[str]]:
    by_key: defaultdict[int, list[str]] = defaultdict(list)
    for key, value in rows:
        by_key[key].append(value)
    return by_key


def _parsed_documents(ids: list[int]) -> Mapping[int, Parsed]:
    missing = {pk for pk in ids if pk not in _parsed}
    if missing:
        rows = Job.objects.values_list("pk", "spec", "submitted_at")
        rows = rows.filter(pk__in=missing) if len(missing) <= MOST_NAMED else rows.filter(state=JobState.QUEUED)
        for pk, document, submitted_at in rows.iterator():
            if pk in missing:
                _parsed[pk] = Parsed(_parse(document), _stamp(submitted_at))
    found = {pk: _parsed[pk] for pk in ids if pk in _parsed}
    trim(_parsed, max(MOST_PARSED, len(ids)))
    return found


def _parse(document: object) -> JobSpec | DocumentError:
    try:
        return parse_job(document)
    except DocumentError as error:
        return error
