"""Several schedulers at once, in processes of their own, on whichever database the tests run on."""

from __future__ import annotations

import multiprocessing
import random
import time
from threading import Barrier, Thread

import pytest
from django.db import connection, connections
from django.db.models import Count, Sum
from django.utils import timezone

from scheduler.core.schedule import run_pass as decide
from scheduler.models import Attempt, DeviceHold, Event, Job, PassLease, SchedulingPass, Task
from scheduler.queue import take_queue
from scheduler.services import commits, ledger
from scheduler.services.commits import Work, commit
from scheduler.services.jobs import cancel_job
from scheduler.services.lease import take
from scheduler.services.passes import run_pass
from scheduler.services.plans import Act, plan_for
from scheduler.services.summaries import Summaries
from scheduler.snapshot import take_fleet
from tests.factories import NOW, a_job, a_worker, held
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)

SCHEDULERS = 6


def nothing_is_held_twice():
    """The invariants, counted in the database."""
    twice = DeviceHold.objects.filter(released_at=None).values("device").annotate(n=Count("pk")).filter(n__gt=1)
    assert not twice.exists()
    two_attempts = Attempt.objects.filter(active=True).values("job").annotate(n=Count("pk")).filter(n__gt=1)
    assert not two_attempts.exists()
    # One statement sees one instant: two counts would differ by what is placed between them.
    assert not Attempt.objects.values("fence").annotate(n=Count("pk")).filter(n__gt=1).exists()


def schedule_for(seconds, name):
    """The life of one scheduler process."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        run_pass(now=timezone.now, holder=name)
    connections.close_all()


def test_six_schedulers_at_once_hold_no_device_twice_and_leave_no_job_behind():
    now = timezone.now()
    for number in range(6):
        a_worker(f"w{number}", gpus="4xA100", seen=now)
    Worker.objects.update(heartbeat_seconds=3600)
    jobs = [a_job(at=timezone.now()) for _ in range(60)]
    connections.close_all()
    context = multiprocessing.get_context("fork")
    schedulers = [context.Process(target=schedule_for, args=(4, f"s{number}")) for number in range(SCHEDULERS)]
    for process in schedulers:
        process.start()
    rng = random.Random(1)
    while any(process.is_alive() for process in schedulers):
        running = list(Job.objects.filter(state="assigned"))
        for job in rng.sample(running, min(3, len(running))):
            cancel_job(job=job, actor="user:mira", now=timezone.now())
            nothing_is_held_twice()
    assert [process.exitcode for process in schedulers] == [0] * SCHEDULERS
    nothing_is_held_twice()
    run_pass(now=timezone.now, holder="last")
    left = Job.objects.filter(state="queued").count()
    assert left == 0 or held() == 24
    assert SchedulingPass.objects.aggregate(n=Sum("placed"))["n"] == Attempt.objects.count()
    assert Task.objects.count() == Attempt.objects.count()
    moves = Event.objects.filter(subject_kind="job", after="assigned").count()
    assert moves == Attempt.objects.count()
    assert len(jobs) == Job.objects.exclude(state="queued").count() + left


def test_a_scheduler_that_is_killed_leaves_every_job_whole():
    a_worker("a", gpus="60xT4", facts={"max_concurrent_tasks": 1000, "cpu_cores": 1000}, seen=timezone.now())
    Worker.objects.update(heartbeat_seconds=3600)
    rng = random.Random(3)
    context = multiprocessing.get_context("fork")
    for round_ in range(10):
        for _ in range(6):
            a_job(gpus=1, at=timezone.now())
        connections.close_all()
        process = context.Process(target=schedule_for, args=(5, f"doomed{round_}"))
        process.start()
        time.sleep(rng.uniform(0.02, 0.3))
        process.kill()
        process.join()
        PassLease.objects.update(holder="", expires_at=None)  # as if its term were over
        attempts = Attempt.objects.annotate(tasks_=Count("tasks", distinct=True), holds=Count("tasks__holds"))
        assert all((attempt.tasks_, attempt.holds) == (1, 1) for attempt in attempts)
        assert Job.objects.filter(state="assigned").count() == len(attempts)
    run_pass(now=timezone.now, holder="last")
    nothing_is_held_twice()
    assert held() == 60
    assert set(Job.objects.values_list("state", flat=True)) == {"assigned"}
    assert not SchedulingPass.objects.filter(state="running").exists()


def test_the_database_alone_refuses_a_second_hold(monkeypatch):
    """Six plans for the same devices, from one snapshot, committed at once, with no lease to keep them apart."""
    a_worker("a", gpus="4xA100")
    jobs = [a_job() for _ in range(4 * SCHEDULERS)]
    monkeypatch.setattr(commits, "renew", lambda lease, now: None)
    fleet, queue = take_fleet(now=NOW), take_queue()
    lease = take(holder="test", now=NOW)
    row = ledger.begin(
        lease=lease, number=1, records=fleet.records, delta={}, view_digest="", queue_digest="",
        considered=0, planned=(), started_at=NOW,
    )  # fmt: skip
    by_id = {queued.job_id: queued for queued in queue}
    shares = []
    for start in range(SCHEDULERS):
        results = decide([queued.entry for queued in queue[start::SCHEDULERS]], fleet.fleet())
        shares.append(
            [
                plan_for(by_id[result.entry.job_id], result, Act.PLACE, view="", given="", summaries=Summaries())
                for result in results
            ]
        )
    work = Work(lease=lease, pass_row=row, keys=fleet.keys, clock=lambda: NOW)
    barrier, tallies = Barrier(SCHEDULERS), []

    def at_once(plans):
        barrier.wait()
        tallies.append(commit(plans, work))
        connection.close()

    threads = [Thread(target=at_once, args=(plans,)) for plans in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(tally.placed for tally in tallies) == 4
    assert sum(tally.refused for tally in tallies) == 4 * (SCHEDULERS - 1)
    nothing_is_held_twice()
    assert held() == 4
    assert Job.objects.filter(state="assigned").count() == 4
    assert len(jobs) == 24
