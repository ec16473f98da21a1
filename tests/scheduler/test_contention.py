"""Four schedulers at once over the same few devices, with nothing between them but the database."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import wait

import pytest
from django.db import connections
from django.utils import timezone

from scheduler.models import Attempt, Job
from tests.factories import a_job, a_worker
from tests.scheduler.contention import held_twice, run_once, scheduler, unfinished_jobs
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)

SCHEDULERS = 4
LOOK_SECONDS = 0.02
JOBS = 300


@pytest.fixture
def queue_of_jobs() -> Callable[[int, int], None]:
    """So many queued jobs of a GPU each, six workers of so many GPUs each."""

    def make(jobs: int, gpus: int) -> None:
        now = timezone.now()
        for number in range(6):
            a_worker(f"w{number}", gpus=f"{gpus}xA100", seen=now, facts={"cpu_cores": 64, "max_concurrent_tasks": 64})
        Worker.objects.update(heartbeat_seconds=3600)
        for _ in range(jobs):
            a_job(at=timezone.now())

    return make


def contended(until_placed: int, seconds: float, devices: int = 0, between: Callable[[], object] = int) -> int:
    """Run the schedulers, and `between` beside them, until so many are placed; return how many were refused.

    With `devices` they themselves have all of so many handed back once all are held.
    """
    connections.close_all()
    context = multiprocessing.get_context("fork")
    shares, together = context.Queue(), context.Barrier(SCHEDULERS)
    life = (until_placed, seconds, devices, together, shares)
    processes = [context.Process(target=scheduler, args=life) for _ in range(SCHEDULERS)]
    for process in processes:
        process.start()
    try:
        while any(process.is_alive() for process in processes):
            between()
            assert held_twice() == []
            wait((process.sentinel for process in processes), timeout=LOOK_SECONDS)
        told = [shares.get(timeout=seconds) for _ in processes]
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.kill()
    assert held_twice() == []
    # One that was sent away by a deadlock does not count what it had placed of that batch.
    assert 0 < sum(share.placed for share in told) <= Attempt.objects.count()
    return sum(share.refused for share in told)


def test_jobs_on_48_gpus_are_each_done_once(queue_of_jobs: Callable[[int, int], None]) -> None:
    queue_of_jobs(JOBS, 8)
    refused = contended(JOBS, 120, between=lambda: run_once(most=24))
    while run_once(most=48):
        pass
    assert unfinished_jobs() == 0
    assert Attempt.objects.count() == JOBS
    assert Job.objects.filter(state="succeeded").count() == JOBS
    assert refused > 0, "they were in each other's way"


def test_a_sample_of_contended_placements_holds_no_device_twice(queue_of_jobs: Callable[[int, int], None]) -> None:
    queue_of_jobs(60, 2)
    refused = contended(200, 120, devices=12)
    assert Attempt.objects.count() >= 200
    assert refused > 0


@pytest.mark.soak
def test_100_000_contended_placements_hold_no_device_twice(queue_of_jobs: Callable[[int, int], None]) -> None:
    queue_of_jobs(120, 8)
    refused = contended(100_000, 7200, devices=48)
    print(f"{Attempt.objects.count():,} placements, {refused:,} refused")
    assert Attempt.objects.count() >= 100_000
    assert refused > 0
