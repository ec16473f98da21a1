"""Passes that come too late, find the world changed, or die: what they planned is written whole or not at all."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from threading import Event as Flag

import pytest
from django.db import OperationalError, connection

from scheduler.models import Attempt, Decision, DeviceHold, Event, PassLease, PassState, SchedulingPass, Task
from scheduler.services.jobs import cancel_job
from scheduler.services.lease import StalePassError, give_back, renew, take
from scheduler.services.passes import run_pass, run_passes
from tests.factories import (
    NOW,
    a_job,
    a_pass,
    a_worker,
    changed,
    held,
    later,
    placed,
    states,
)
from tests.scheduler.faults import FailsAt, before_each_batch, between_snapshot_and_commit
from workers.changes import bump
from workers.models import Intent

pytestmark = pytest.mark.django_db


def test_a_pass_is_refused_while_another_holds_the_lease():
    a_worker("a")
    job = a_job()
    lease = take(holder="another", now=NOW)
    assert a_pass() is None
    assert states(job) == ["queued"]
    assert give_back(lease) is False
    assert a_pass() is not None


def test_a_holder_that_died_keeps_others_waiting_for_its_term_only():
    a_worker("a")
    job = a_job()
    take(holder="dead", now=NOW)
    assert a_pass(later(seconds=14)) is None
    assert a_pass(later(seconds=15)) is not None
    assert states(job) == ["assigned"]


def test_a_pass_that_died_midway_is_closed_though_nothing_waits_any_more():
    a_worker("a")
    a_job()
    died = a_pass()
    SchedulingPass.objects.filter(pk=died.pk).update(state="running", finished_at=None)
    a_pass(later(seconds=2))
    died.refresh_from_db()
    assert died.state == "refused"


def test_a_pass_that_lost_its_lease_meanwhile_writes_nothing():
    a_worker("a")
    job = a_job()
    clock = [NOW]

    def now():
        return clock[0]

    def steal():
        PassLease.objects.update(epoch=99, holder="another")

    with between_snapshot_and_commit(steal):
        run_passes(now=now, holder="slow")
    assert states(job) == ["queued"]
    assert not Attempt.objects.exists()
    assert not DeviceHold.objects.exists()
    assert not Decision.objects.exists()


def test_a_pass_whose_process_is_told_to_end_writes_no_further_batch_and_frees_the_lease():
    a_worker("a", gpus="60xT4", facts={"max_concurrent_tasks": 100, "cpu_cores": 100})
    jobs = [a_job(name=f"n{number:02}") for number in range(60)]
    ending = Flag()

    def end(batch):
        if batch == 1:
            ending.set()

    with before_each_batch(end):
        run_passes(now=lambda: NOW, holder="ending", ending=ending)
    assert SchedulingPass.objects.get().state == PassState.REFUSED
    assert states(*jobs).count("assigned") == 50
    run_passes(now=lambda: NOW, holder="ending", ending=ending)
    assert SchedulingPass.objects.count() == 1, "no other begins"
    run_passes(now=lambda: NOW, holder="the next")
    assert states(*jobs).count("assigned") == 60


def test_a_pass_that_lost_its_lease_between_two_batches_keeps_the_first_whole():
    a_worker("a", gpus="60xT4", facts={"max_concurrent_tasks": 100, "cpu_cores": 100})
    jobs = [a_job(name=f"n{number:02}") for number in range(60)]

    def steal(batch):
        if batch == 1:
            PassLease.objects.update(epoch=99, holder="another")

    with before_each_batch(steal):
        assert a_pass() is None
    assert states(*jobs).count("assigned") == 50
    assert held() == 50
    assert SchedulingPass.objects.get().state == PassState.REFUSED


def test_a_pass_that_was_asleep_while_another_did_its_work_changes_nothing():
    a_worker("a", gpus="2xA100")
    job = a_job(gpus=2)
    with between_snapshot_and_commit(lambda: run_pass(now=later(seconds=20), holder="awake")):
        assert run_pass(now=NOW, holder="asleep") is None
    assert placed(job) == [("a", [0, 1])]
    assert Attempt.objects.get().fence == 1
    rows = SchedulingPass.objects.order_by("number").values_list("holder", "state", "placed")
    assert list(rows) == [("asleep", PassState.REFUSED, 0), ("awake", PassState.COMPLETE, 1)]


def test_a_gang_of_which_one_worker_changed_is_not_placed_at_all():
    a_worker("a", gpus="2xA100")
    worker = a_worker("b", gpus="2xA100")
    job = a_job(gpus=2, distributed={"num_workers": 2})
    with between_snapshot_and_commit(lambda: bump([worker.pk])):
        a_pass()
    assert states(job) == ["queued"]
    assert held() == 0


def test_a_drain_between_snapshot_and_commit_is_honoured():
    worker = a_worker("a")
    a_worker("b")
    job = a_job()

    def drain():
        changed(worker, intent=Intent.DRAINING)
        bump([worker.pk])

    with between_snapshot_and_commit(drain):
        row = a_pass()
    assert (row.placed, row.refused) == (0, 1)
    assert states(job) == ["queued"]
    a_pass(later(seconds=2))
    assert placed(job) == [("b", [0])]


def test_the_other_jobs_of_a_batch_are_placed_when_one_is_refused():
    worker = a_worker("a")
    a_worker("b")
    first, second = a_job(), a_job()
    with between_snapshot_and_commit(lambda: bump([worker.pk])):
        row = a_pass()
    assert (row.placed, row.refused) == (1, 1)
    assert states(first, second) == ["queued", "assigned"]


def test_a_job_cancelled_between_snapshot_and_commit_stays_cancelled():
    a_worker("a")
    job = a_job()
    with between_snapshot_and_commit(lambda: cancel_job(job=job, actor="user:mira", now=NOW)):
        a_pass()
    assert states(job) == ["cancelled"]
    assert held() == 0


def test_a_device_that_is_held_after_all_refuses_only_its_own_job():
    worker = a_worker("a")
    a_worker("b")
    first, second = a_job(), a_job()
    other = a_job(name="other")
    changed(other, state="paused")

    def grab():
        attempt = Attempt.objects.create(job=other, number=1, fence=1000, created_at=NOW)
        task = Task.objects.create(attempt=attempt, worker=worker, devices=[0], state_since=NOW)
        DeviceHold.objects.create(task=task, device=worker.devices.get(), worker=worker)

    with between_snapshot_and_commit(grab):
        row = a_pass()
    assert (row.placed, row.refused) == (1, 1)
    assert states(first, second) == ["queued", "assigned"]
    assert held() == 2


def test_a_stale_lease_cannot_be_renewed():
    lease = take(holder="one", now=NOW)
    take(holder="two", now=later(seconds=20))
    with pytest.raises(StalePassError):
        renew(lease, now=later(seconds=21))


@pytest.mark.django_db(transaction=True)
def test_whichever_statement_fails_every_job_is_whole_and_the_next_pass_goes_on():
    worker = a_worker("a", gpus="4xA100")
    broken_at = 0
    while True:
        broken_at += 1
        now = later(minutes=broken_at)
        changed(worker, last_seen_at=now)
        jobs = [a_job(gpus=2, at=now), a_job(gpus=2, at=now), a_job(gpus=8, on_unschedulable="fail", at=now)]
        failing = FailsAt(broken_at)
        with connection.execute_wrapper(failing), contextlib.suppress(OperationalError):
            a_pass(now)
        whole(jobs)
        if failing.count < broken_at:
            break
        a_pass(now + timedelta(seconds=20))
        whole(jobs)
        assert states(*jobs) == ["assigned", "assigned", "failed"]
        for job in jobs:
            cancel_job(job=job, actor="user:mira", now=now)
        assert held() == 0
    assert broken_at > 20
    assert not SchedulingPass.objects.filter(state=PassState.RUNNING).exists()


def whole(jobs):
    """Every one of these is queued with nothing, or assigned with everything."""
    for job in jobs:
        (state,) = states(job)
        tasks = Task.objects.filter(attempt__job=job)
        assert [len(task.holds.all()) for task in tasks] == ([2] if state == "assigned" else [])
        moves = Event.objects.filter(subject=job.job_id, verb="state").count()
        assert moves == (state != "queued")
        assert Decision.objects.filter(job=job).exists() or state == "queued"
