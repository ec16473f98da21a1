"""Workers that leave for good."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from scheduler.models import Task
from workers.models import Worker
from workers.refusals import Refused
from workers.services.credentials import retire
from workers.services.intent import live_worker

NAMED = 5
MOST_AT_ONCE = 1_000


@transaction.atomic
def retire_worker(*, name: str, actor: str, now: datetime) -> Worker:
    """Take a worker out for good: its credential ends, and its name is free.

    Raises NotFound, Refused `still_in_use` while a task holds something there: drain it and wait, or revoke it.
    """
    # Locked, so that no pass can place anything there between the question and the answer.
    worker = Worker.objects.select_for_update().get(pk=live_worker(name).pk)
    holding = Task.objects.filter(worker=worker, released_at=None).order_by("pk")
    jobs = list(holding.values_list("attempt__job__job_id", flat=True)[: NAMED + 1])
    if jobs:
        more = " and more" if len(jobs) > NAMED else ""
        what = f"{', '.join(jobs[:NAMED])}{more}"
        raise Refused("still_in_use", f"{name} still runs {what}; drain it and wait, or revoke its credential")
    return retire(name=name, actor=actor, now=now)


@transaction.atomic
def retire_workers(*, names: Sequence[str], actor: str, now: datetime) -> None:
    """Take all of these out for good, or none of them. Raises as `retire_worker`, Refused `too_many` (422)."""
    if len(names) > MOST_AT_ONCE:
        raise Refused("too_many", f"{len(names):,} workers; at most {MOST_AT_ONCE:,} are retired at once", status=422)
    for name in sorted(names):
        retire_worker(name=name, actor=actor, now=now)
