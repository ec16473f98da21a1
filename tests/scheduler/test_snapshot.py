"""Rows -> the core's fleet and queue."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler.memory import forget
from scheduler.models import Task
from scheduler.queue import take_queue
from scheduler.records import applied, changes, delta_from, packed
from scheduler.snapshot import take_fleet
from tests.factories import (
    NOW,
    a_job,
    a_pass,
    a_reservation,
    a_user,
    a_worker,
    changed,
    later,
    new_facts,
    worker_document,
)
from workers.models import Health, Intent, Label, LabelSource, Liveness

pytestmark = pytest.mark.django_db


def the(name="a", at=NOW):
    """The view of one worker."""
    return {worker.id: worker for worker in take_fleet(now=at).fleet().workers}[name]


def device(index=0, name="a", at=NOW):
    """The view of one device."""
    return the(name, at).facts.devices[index]


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({}, ["a"]),
        ({"liveness": Liveness.SUSPECT}, ["a"]),
        ({"liveness": Liveness.LOST}, ["a"]),
        ({"liveness": Liveness.ENROLLED}, []),
        ({"liveness": Liveness.REVOKED}, []),
        ({"intent": Intent.RETIRED}, []),
        ({"intent": Intent.DRAINED}, ["a"]),
    ],
)
def test_who_is_in_the_fleet(fields, seen):
    a_worker("a", **fields)
    assert [worker.id for worker in take_fleet(now=NOW).fleet().workers] == seen


@pytest.mark.parametrize(
    ("fields", "at", "online"),
    [
        pytest.param({}, NOW, True, id="just seen"),
        pytest.param({}, later(seconds=30), True, id="seen three heartbeats ago"),
        pytest.param({}, later(seconds=31), False, id="silent for longer"),
        pytest.param({"heartbeat_seconds": 15}, later(seconds=31), True, id="told to call less often"),
        pytest.param({"liveness": Liveness.SUSPECT}, NOW, False, id="suspect"),
        pytest.param({"liveness": Liveness.LOST}, NOW, False, id="lost"),
    ],
)
def test_who_is_online_is_settled_by_the_servers_clock(fields, at, online):
    a_worker("a", **fields)
    assert the(at=at).online is online


def test_draining_and_unhealthy_say_why():
    a_worker("a", intent=Intent.DRAINING, intent_note="new kernel", health=Health.UNHEALTHY, health_note="NVML is gone")
    worker = the()
    assert (worker.draining, worker.unhealthy, worker.state_note) == (True, True, "new kernel; NVML is gone")
    assert worker.state_since == NOW


def test_an_operators_label_wins_over_the_agents():
    worker = a_worker("a", labels={"zone": "b", "rack": "7"})
    Label.objects.create(worker=worker, key="zone", value="a", source=LabelSource.OPERATOR)
    assert the().facts.labels == (("rack", "7"), ("zone", "a"))


@pytest.mark.parametrize(
    ("fields", "at", "expected"),
    [
        pytest.param({}, NOW, ("user:noa", None), id="open-ended"),
        pytest.param({"ends_at": later(hours=1)}, NOW, ("user:noa", later(hours=1)), id="with an end"),
        pytest.param({"ends_at": later(hours=1)}, later(hours=1), (None, None), id="over"),
        pytest.param({"starts_at": later(seconds=1)}, NOW, (None, None), id="not begun"),
        pytest.param({"cancelled_at": NOW}, NOW, (None, None), id="cancelled"),
    ],
)
def test_a_whole_workers_reservation(fields, at, expected):
    a_reservation(a_worker("a", seen=at), "user:noa", **fields)
    facts = the(at=at).facts
    assert (facts.reserved_for, facts.reserved_until) == expected
    assert device(at=at).reserved_for is None


def test_a_reservation_of_some_devices_leaves_the_others():
    a_reservation(a_worker("a", gpus="3xA100"), "team:vision", devices=(0, 2), ends_at=later(hours=1))
    assert [card.reserved_for for card in the().facts.devices] == ["team:vision", None, "team:vision"]
    assert the().facts.reserved_for is None
    assert device(2).reserved_until == later(hours=1)


def test_live_readings_of_devices_lie_over_the_facts():
    worker = a_worker("a", gpus="4xA100")
    rows = {row.index: row for row in worker.devices.all()}
    changed(rows[1], healthy=False, health_note="row remap failed")
    changed(rows[2], foreign_memory=3 * 10**9)
    changed(rows[3], present=False)
    zero, one, two, three = the().facts.devices
    assert (zero.healthy, zero.foreign_memory_bytes, zero.model) == (True, None, "NVIDIA A100-SXM4-80GB")
    assert (one.healthy, one.health_note) == (False, "row remap failed")
    assert (two.healthy, two.foreign_memory_bytes) == (True, 3 * 10**9)
    assert (three.healthy, three.health_note) == (False, "missing since the last probe")


def test_tasks_count_until_they_are_released():
    a_worker("a", gpus="2xA100")
    job = a_job(resources={"cpu_cores": 2, "memory_gb": 3})
    a_pass()
    (load,) = the().tasks
    assert (load.job_id, load.devices, load.cpu_millicores, load.memory_bytes) == (job.job_id, (0,), 2000, 3 * 10**9)
    changed(Task.objects.get(), state="revoked", finished_at=NOW, released_at=NOW)
    assert the().tasks == ()


def test_new_facts_are_seen_at_once():
    worker = a_worker("a", gpus="1xA100")
    assert len(the().facts.devices) == 1
    new_facts(worker, worker_document("a", gpus="2xH100"))
    assert [card.model for card in the().facts.devices] == ["NVIDIA H100 80GB HBM3"] * 2


def test_facts_that_cannot_be_read_leave_out_their_worker_only():
    new_facts(a_worker("a"), {"id": "a"})
    a_worker("b")
    assert [worker.id for worker in take_fleet(now=NOW).fleet().workers] == ["b"]


def test_the_queue_names_whose_reservations_count():
    a_job(owner=a_user("noa", teams=("vision", "audio")))
    (queued,) = take_queue()
    assert queued.entry.holders == ("user:noa", "team:audio", "team:vision")


def test_the_queue_is_first_in_first_out():
    jobs = [a_job(at=later(seconds=second)) for second in (3, 1, 2)]
    assert [queued.pk for queued in take_queue()] == [jobs[1].pk, jobs[2].pk, jobs[0].pk]


@pytest.mark.parametrize("count", [1, 20])
def test_the_snapshot_costs_six_queries_whatever_the_fleet(count):
    for number in range(count):
        worker = a_worker(f"w{number}", gpus="2xA100", labels={"zone": "a"})
        a_reservation(worker, "user:noa", devices=(1,))
        a_job()
    forget()
    assert queries(lambda: take_fleet(now=NOW).fleet()) == 6
    assert queries(lambda: take_fleet(now=NOW).fleet()) == 5, "facts are parsed once"


@pytest.mark.parametrize("count", [1, 20])
def test_the_queue_costs_four_queries_whatever_its_length(count):
    for _ in range(count):
        a_job()
    forget()
    assert queries(take_queue) == 4
    assert queries(take_queue) == 3


def test_the_view_comes_back_from_what_was_written_down():
    a_worker("a", gpus="2xA100", labels={"zone": "a"})
    gone = a_worker("b")
    before = take_fleet(now=NOW).records
    a_reservation(a_worker("c", gpus="1xT4"), "user:noa", devices=(0,), ends_at=later(hours=1))
    changed(gone, intent=Intent.RETIRED)
    after = take_fleet(now=NOW).records
    written = packed(changes(before, after))
    assert applied(before, delta_from(written)) == after
    assert applied({}, delta_from(packed(changes(None, after)))) == after


def queries(act):
    """How many queries it takes."""
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)
