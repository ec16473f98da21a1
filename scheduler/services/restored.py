"""What makes a database that was restored from a backup safe: the world has gone on without it.

Attempts that it has never heard of may run on hosts. No number of theirs is drawn again, nothing that it only believes
to be assigned is started by that word, and no lease is taken for over that was extended meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Max, Model

from scheduler.models import Attempt, FenceCounter, Job, JobState, Task
from scheduler.models.attempts import ATTEMPT_ACTIVE
from scheduler.services.hold_limits import latest_end
from scheduler.services.holding import take_back
from scheduler.services.leases import Running
from scheduler.services.reports import locked, one_each
from scheduler.services.settling import settle
from workers.models import Event
from workers.services.restored import confirm

JUMP = 1_000_000
"""How far the numbers of attempts, tasks, fences and events jump: more than were used since the backup was made."""
JOBS_JUMP = 100_000
"""How far the numbers of jobs do, which people read."""
HOLDS_LAST = timedelta(hours=1)
"""From the restore on, at least."""
CAUSE = "restored from a backup"


@transaction.atomic
def make_safe(*, actor: str, now: datetime) -> int:
    """After a restore, before anything else uses the database. Returns how many attempts went back to the queue."""
    FenceCounter.objects.bulk_create([FenceCounter(pk=1, value=0)], ignore_conflicts=True)
    FenceCounter.objects.filter(pk=1).update(value=F("value") + JUMP)
    for model, by in ((Attempt, JUMP), (Task, JUMP), (Event, JUMP), (Job, JOBS_JUMP)):
        _jump(model, by)
    _lengthen_leases(now)
    _lengthen_holds(actor, now)
    return _take_back_unstarted(actor, now)


def confirm_known(
    running: Mapping[int, Sequence[Running]], *, kill: Iterable[int], held: frozenset[int], now: datetime
) -> list[int]:
    """Workers (by id) of `held` that run nothing which they have to end get work again; returns these."""
    strange = set(kill)
    return confirm(
        (worker for worker, many in running.items() if worker in held and not strange & {task for task, _ in many}),
        now=now,
    )


def _jump(model: type[Model], by: int) -> None:
    """The next row's number is larger by so much than that of any row yet."""
    table = model._meta.db_table  # noqa: SLF001 - the public way to a table's name
    last = model._default_manager.aggregate(last=Max("pk"))["last"] or 0  # noqa: SLF001 - and to all of its rows
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
            drawn = cursor.fetchone()
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
            value = max(last, drawn[0] if drawn else 0) + by
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, value])
        else:
            cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [table])
            (sequence,) = cursor.fetchone()
            cursor.execute("SELECT setval(%s::regclass, greatest(nextval(%s::regclass), %s) + %s)",
                           [sequence, sequence, last, by])  # fmt: skip


def _lengthen_leases(now: datetime) -> None:
    """They may have been extended until a moment ago; their hosts go by that."""
    for attempt in Attempt.objects.filter(active=True, leased_until__isnull=False):
        until = now + timedelta(seconds=attempt.lease_seconds or 0)
        Attempt.objects.filter(pk=attempt.pk, leased_until__lt=until).update(leased_until=until)


def _lengthen_holds(actor: str, now: datetime) -> None:
    """They may have been extended until a moment ago: who has one gets time to say so, as far as a hold may last."""
    for job in Job.objects.filter(state=JobState.RUNNING, hold_until__lt=now + HOLDS_LAST).order_by("pk"):
        until = min(now + HOLDS_LAST, latest_end(job))
        if job.hold_until and until > max(job.hold_until, now):
            Job.objects.filter(pk=job.pk).update(hold_until=until)
            Event.objects.create(
                at=now, actor=actor, subject_kind="job", subject=job.job_id, verb="hold_extended",
                before=job.hold_until.isoformat(), after=until.isoformat(), cause=CAUSE,
            )  # fmt: skip


def _take_back_unstarted(actor: str, now: datetime) -> int:
    """What no agent was let start, as far as is known here, may have started since: it goes back, for another fence."""
    waiting = Task.objects.filter(
        attempt__active=True, attempt__state__in=ATTEMPT_ACTIVE, attempt__go_at=None, started_at=None, released_at=None
    )
    keys = one_each(waiting)
    for key in keys:
        rows = locked(key)
        take_back(rows.tasks, rows.attempt, actor=actor, now=now, cause=CAUSE)
        settle(rows, now=now, actor=actor)
    return len(keys)
