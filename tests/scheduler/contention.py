"""Schedulers that all decide and commit at once, without the lease that keeps them apart, over a few devices."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from random import Random
from threading import BrokenBarrierError

from django.db import DatabaseError, connections, transaction
from django.db.models import Count
from django.utils import timezone

from scheduler.core.schedule import run_pass as decide
from scheduler.models import Attempt, DeviceHold, Job, Task
from scheduler.queue import take_queue
from scheduler.services import commits, ledger
from scheduler.services.commits import Tally, Work, commit
from scheduler.services.holding import release
from scheduler.services.lease import Lease
from scheduler.services.plans import Act, plan_for
from scheduler.services.reports import locked
from scheduler.services.settling import settle
from scheduler.services.summaries import Summaries
from scheduler.snapshot import take_fleet

BATCH = 12
TOGETHER_EVERY = 5


@dataclass(frozen=True)
class Share:
    """What one scheduler did."""

    placed: int
    refused: int


def scheduler(until_placed: int, seconds: float, devices: int, together: Barrier, shares: Queue[Share]) -> None:
    """The life of one scheduler process: decide the whole queue on what it sees, and commit, whatever others do.

    Only the database keeps it from giving a device twice. Now and then all of them wait until each has decided, so
    that they are in each other's way for certain. Who finds all of so many devices held lets agents hand them back; 0:
    somebody else does.
    """
    commits.renew = lambda lease, now: None
    chance, numbers = Random(os.getpid()), count(os.getpid() * 1_000_000)
    tally, deadline = Tally(), time.monotonic() + seconds
    while time.monotonic() < deadline and Attempt.objects.count() < until_placed:
        number = next(numbers)
        with suppress(DatabaseError):
            more = _round(number, chance, together if number % TOGETHER_EVERY == 0 else None)
            tally += more
            if devices and not more.placed and not more.refused:
                hand_back(of=devices)
    together.abort()
    shares.put(Share(tally.placed, tally.refused))
    connections.close_all()


def _round(number: int, chance: Random, together: Barrier | None) -> Tally:
    fleet, queue = take_fleet(now=timezone.now()), take_queue()
    by_id = {queued.job_id: queued for queued in queue}
    entries = [queued.entry for queued in queue if queued.entry]
    # Else all of them would want the same job for the same device.
    entries = chance.sample(entries, (len(entries) + 1) // 2)
    plans = [
        plan_for(by_id[result.entry.job_id], result, Act.PLACE, view="", given="", summaries=Summaries())
        for result in decide(entries, fleet.fleet())
        if result.decision.assignments
    ]
    if together is not None:
        with suppress(BrokenBarrierError):
            together.wait(timeout=60)
    if not plans:
        return Tally()
    lease = Lease("any", 1)
    row = ledger.begin(
        lease=lease, number=number, records=fleet.records, delta={}, view_digest="", queue_digest="",
        considered=len(queue), planned=(), started_at=timezone.now(),
    )  # fmt: skip
    work = Work(lease=lease, pass_row=row, keys=fleet.keys, clock=timezone.now)
    tally = Tally()
    for at in range(0, len(plans), BATCH):
        with suppress(DatabaseError):  # two of them wait for each other's devices: one is sent away
            tally += commit(plans[at : at + BATCH], work)
    return tally


def hand_back(*, of: int) -> None:
    """Once all of so many devices are held, let agents return them at once, so that they change hands often."""
    if DeviceHold.objects.filter(released_at=None).count() == of:
        _hand_back()


@transaction.atomic
def _hand_back() -> None:
    now = timezone.now()
    jobs = list(Job.objects.select_for_update().filter(state="assigned").order_by("pk").values_list("pk", flat=True))
    held = list(Task.objects.filter(attempt__job__in=jobs, state="assigned").values_list("pk", "attempt_id"))
    ids, attempts = [task for task, _ in held], [attempt for _, attempt in held]
    DeviceHold.objects.filter(task__in=ids).update(released_at=now)
    Task.objects.filter(pk__in=ids).update(state="revoked", finished_at=now, released_at=now)
    Attempt.objects.filter(pk__in=attempts).update(state="revoked", active=False, ended_at=now)
    Job.objects.filter(pk__in=jobs).update(state="queued")


def run_once(*, most: int) -> int:
    """Let agents run what they were assigned to its end; return how many tasks that were."""
    ran = 0
    for task in list(Task.objects.filter(state="assigned").values_list("pk", flat=True)[:most]):
        with suppress(DatabaseError), transaction.atomic():
            rows = locked(task)
            now = timezone.now()
            Task.objects.filter(pk=task).update(state="succeeded", claimed_at=now, started_at=now, finished_at=now)
            rows.task.refresh_from_db()
            settle(rows, now=now)
            release([rows.task], now=now)
            ran += 1
    return ran


def held_twice() -> list[int]:
    """Devices that two tasks hold, by the rows themselves."""
    twice = DeviceHold.objects.filter(released_at=None).values("device").annotate(n=Count("pk")).filter(n__gt=1)
    return [row["device"] for row in twice]


def unfinished_jobs() -> int:
    """Jobs that are not over."""
    return Job.objects.filter(finished_at=None).count()
