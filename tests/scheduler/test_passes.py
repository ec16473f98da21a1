"""What a pass does to rows."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from scheduler.models import Attempt, Decision, DeviceHold, Event, Job, PassLease, PassState, SchedulingPass, Task
from scheduler.services.holding import release
from scheduler.services.jobs import cancel_job
from scheduler.services.lease import StalePassError, give_back, take
from scheduler.services.passes import run_pass, run_passes
from tests.factories import (
    NOW,
    a_job,
    a_pass,
    a_reservation,
    a_user,
    a_worker,
    changed,
    held,
    later,
    latest,
    placed,
    states,
)
from workers.changes import bump
from workers.models import Intent, Liveness

pytestmark = pytest.mark.django_db


def test_a_job_gets_the_first_worker_that_fits_and_holds_its_devices():
    a_worker("b", gpus="2xA100")
    a_worker("a", gpus="1xA100")
    job = a_job(gpus=2)
    row = a_pass()
    assert placed(job) == [("b", [0, 1])]
    assert states(job) == ["assigned"]
    assert held() == 2
    assert (row.state, row.considered, row.placed, row.refused) == (PassState.COMPLETE, 1, 1, 0)


def test_what_one_job_gets_is_gone_for_the_next():
    a_worker("a", gpus="2xA100")
    first, second, third = (a_job(name=name) for name in ("one", "two", "three"))
    a_pass()
    assert [placed(first), placed(second), placed(third)] == [[("a", [0])], [("a", [1])], []]
    assert latest(third).outcome == "waiting"


def test_every_placement_has_its_own_fence_and_its_events():
    a_worker("a", gpus="2xA100")
    jobs = [a_job(), a_job()]
    row = a_pass()
    assert sorted(Attempt.objects.values_list("fence", flat=True)) == [1, 2]
    events = Event.objects.filter(subject=jobs[0].job_id).order_by("id")
    assert [(event.verb, event.before, event.after, event.cause) for event in events] == [
        ("submitted", "", "queued", ""),
        ("state", "queued", "assigned", f"pass {row.number}"),
    ]


def test_released_devices_are_given_again():
    a_worker("a")
    first, second = a_job(), a_job()
    a_pass()
    cancel_job(job=first, actor="user:mira", now=NOW)
    assert states(first) == ["cancelled"]
    a_pass(later(seconds=2))
    assert placed(second) == [("a", [0])]
    assert held() == 1


def test_a_finished_task_holds_its_device_until_it_is_released():
    a_worker("a")
    _, second = a_job(), a_job()
    a_pass()
    task = changed(Task.objects.get(), state="revoked", finished_at=NOW)
    changed(task.attempt, state="revoked", active=False, ended_at=NOW)
    a_pass(later(seconds=2))
    assert not placed(second)
    release([task], now=NOW)
    a_pass(later(seconds=4))
    assert placed(second) == [("a", [0])]


def test_a_job_that_never_fits_ends_as_failed_when_it_asked_for_that():
    a_worker("a")
    job = a_job(gpus=8, on_unschedulable="fail")
    patient = a_job(gpus=8)
    a_pass()
    job.refresh_from_db()
    assert (job.state, job.failure_code, job.finished_at) == ("failed", "unschedulable", NOW)
    assert job.failure_text == latest(job).summary["answer"]["lead"]
    assert latest(job).outcome == "unschedulable"
    assert states(patient) == ["queued"]


def test_a_broken_document_ends_its_job_and_holds_up_nobody():
    a_worker("a")
    broken, fine = a_job(), a_job()
    Job.objects.filter(pk=broken.pk).update(spec={"name": "train"})
    a_pass()
    broken.refresh_from_db()
    assert (broken.state, broken.failure_code) == ("failed", "broken_document")
    assert "command" in broken.failure_text
    assert placed(fine) == [("a", [0])]


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


def test_a_gang_is_placed_whole():
    a_worker("a", gpus="2xA100")
    a_worker("b", gpus="2xA100")
    job = a_job(gpus=2, distributed={"num_workers": 2})
    too_big = a_job(gpus=2, distributed={"num_workers": 3})
    a_pass()
    assert placed(job) == [("a", [0, 1]), ("b", [0, 1])]
    assert held() == 4
    assert states(too_big) == ["queued"]


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


def test_a_silent_worker_becomes_suspect_by_the_servers_clock_and_gets_nothing():
    worker = a_worker("a", seen=NOW)
    job = a_job()
    a_pass(later(seconds=31))
    worker.refresh_from_db()
    assert worker.liveness == Liveness.SUSPECT
    assert states(job) == ["queued"]
    assert Event.objects.filter(subject="a", verb="liveness", after="suspect").count() == 1


def test_nothing_queued_writes_no_row():
    a_worker("a")
    assert a_pass() is None
    assert not SchedulingPass.objects.exists()


def test_nothing_changed_writes_no_row():
    a_worker("a", seen=later(minutes=1))
    a_job(gpus=2)
    first = a_pass()
    assert a_pass(later(seconds=2)) is None
    assert a_pass(later(seconds=60)) is None
    assert SchedulingPass.objects.count() == 1
    first.refresh_from_db()
    assert first.confirmed_at == later(seconds=60)


def test_a_reservation_in_force_keeps_others_off_and_lets_its_holders_in():
    worker = a_worker("a")
    a_reservation(worker, "team:vision", ends_at=later(hours=1))
    stranger, member = a_job(), a_job(owner=a_user("noa", teams=("vision",)))
    a_pass()
    assert states(stranger, member) == ["queued", "assigned"]
    a_pass(later(hours=2))
    assert latest(stranger).outcome == "waiting"


def test_messages_that_come_twice_or_never_leave_no_trace():
    a_worker("a", gpus="2xA100")
    jobs = [a_job(), a_job()]
    for _ in range(5):
        run_passes(now=lambda: NOW, holder="test")
    assert states(*jobs) == ["assigned", "assigned"]
    assert Attempt.objects.count() == 2
    assert SchedulingPass.objects.count() == 1


def between_snapshot_and_commit(act):
    """Do `act` after a pass has decided and before it commits anything; not again in a pass that `act` runs."""
    return before_each_batch(lambda batch: act() if batch == 0 else None)


class before_each_batch:  # noqa: N801 - reads as a statement
    """Call `act` with the number of each batch before it is committed."""

    def __init__(self, act):
        self.act = act

    def __enter__(self):
        from scheduler.services import passes

        self.module, self.real, self.batch = passes, passes.commit, 0
        passes.commit = self.commit

    def __exit__(self, *_):
        self.module.commit = self.real

    def commit(self, plans, work):
        batch, self.batch = self.batch, self.batch + 1
        self.act(batch)
        return self.real(plans, work)


def test_a_stale_lease_cannot_be_renewed():
    from scheduler.services.lease import renew

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


class FailsAt:
    """Refuses the n-th statement."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def __call__(self, execute, sql, params, many, context):
        self.count += 1
        if self.count == self.number:
            raise OperationalError("the database went away")
        return execute(sql, params, many, context)
