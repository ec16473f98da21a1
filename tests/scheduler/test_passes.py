"""What a pass does to rows."""

from __future__ import annotations

import pytest

from scheduler.models import Attempt, Event, Job, PassState, SchedulingPass, Task
from scheduler.services.holding import release
from scheduler.services.jobs import cancel_job
from scheduler.services.passes import run_passes
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
from workers.models import Liveness

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


def test_a_gang_is_placed_whole():
    a_worker("a", gpus="2xA100")
    a_worker("b", gpus="2xA100")
    job = a_job(gpus=2, distributed={"num_workers": 2})
    too_big = a_job(gpus=2, distributed={"num_workers": 3})
    a_pass()
    assert placed(job) == [("a", [0, 1]), ("b", [0, 1])]
    assert held() == 4
    assert states(too_big) == ["queued"]


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
