"""What heartbeats say of devices: who uses them, how they do, and tasks on devices that they do not hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.snapshot import take_fleet
from tests.api.callers import Caller, Placed, a_document, place
from tests.factories import a_job, a_pass
from tests.factories import placed as placements
from workers.models import Device, Event
from workers.services.devices import Reading, take_readings
from workers.services.limits import set_limits

pytestmark = pytest.mark.django_db
GB = 10**9


def device(index: int = 0, **differs: Any) -> dict[str, Any]:
    """A healthy device of w1 in a heartbeat."""
    return {"index": index, "uuid": f"GPU-w1-{index}", "healthy": True, "foreign_memory": 0, **differs}


def beat(agent: Caller, seq: int, *devices: dict[str, Any], **more: Any) -> None:
    agent.ok("heartbeat", agent.beat(seq=seq, devices=list(devices), **more))


def row(index: int = 0) -> Device:
    return Device.objects.get(worker__name="w1", index=index, present=True)


def test_the_last_reading_of_a_device_is_kept(agent: Caller) -> None:
    process = {"pid": 4711, "user": "mira", "memory": 3 * GB, "task": None}
    beat(agent, 1, device(utilisation=97, memory_used=4 * GB, foreign_memory=3 * GB, processes=[process]))
    assert (row().utilisation, row().memory_used, row().foreign_memory) == (97, 4 * GB, 3 * GB)
    assert row().processes == [process]
    assert row().read_at is not None


def test_a_device_is_known_by_its_uuid_whatever_its_index(agent: Caller) -> None:
    beat(agent, 1, device(0, utilisation=5) | {"index": 1}, device(1, utilisation=6) | {"index": 0})
    assert (row(0).utilisation, row(1).utilisation) == (5, 6)


def test_a_device_that_cannot_say_its_uuid_is_known_by_its_index(agent: Caller) -> None:
    beat(agent, 1, device(0, uuid=None, healthy=False, health_note="gpu is lost"), device(1))
    assert (row(0).healthy, row(0).health_note, row(1).healthy) == (False, "gpu is lost", True)


def test_each_change_of_health_is_one_event_and_placement_follows_it(agent: Caller, mira: User) -> None:
    agent.register("w1", a_document(max_concurrent_tasks=2))
    beat(agent, 1, device(0), device(1))
    beat(agent, 2, device(0, healthy=False, health_note="Xid 79: it has fallen off the bus: reboot"), device(1))
    beat(agent, 3, device(0, healthy=False, health_note="Xid 79: it has fallen off the bus: reboot"), device(1))
    told = Event.objects.filter(subject="w1", verb="device health", detail__device=0).order_by("pk")
    assert [(event.before, event.after, event.cause) for event in told] == [
        ("unknown", "healthy", ""), ("healthy", "unhealthy", "Xid 79: it has fallen off the bus: reboot"),
    ]  # fmt: skip
    jobs = [a_job(owner=mira, at=timezone.now()) for _ in range(2)]
    a_pass(timezone.now())
    assert [placements(job) for job in jobs] == [[("w1", [1])], []]
    beat(agent, 4, device(0), device(1))
    a_pass(timezone.now())
    assert placements(jobs[1]) == [("w1", [0])]


def test_a_quarantined_device_is_avoided_like_any_unhealthy_one(agent: Caller, mira: User) -> None:
    beat(agent, 1, device(0, healthy=False, health_note="quarantined: process 42 does not end"), device(1))
    (view,) = take_fleet(now=timezone.now()).fleet().workers
    assert [(each.healthy, each.health_note) for each in view.facts.devices or ()] == [
        (False, "quarantined: process 42 does not end"), (True, ""),
    ]  # fmt: skip
    assert Event.objects.filter(verb="device health", after="unhealthy").count() == 1


@pytest.mark.parametrize(
    ("limit", "used", "is_news"),
    [(None, 2 * GB, True), (4 * GB, 2 * GB, False), (4 * GB, 5 * GB, True), (0, GB // 2, True)],
)
def test_use_from_outside_is_news_for_passes_by_what_an_operator_allows(
    agent: Caller, limit: int | None, used: int, is_news: bool
) -> None:
    """What a pass under way has chosen is looked at again where the worker's version is another."""
    beat(agent, 1, device())
    set_limits([row().worker_id], limits={"foreign_allowance_bytes": limit}, actor="user:ada", now=timezone.now())
    before = row().worker.version
    beat(agent, 2, device(foreign_memory=used))
    assert (row().worker.version != before) is is_news


def test_a_reading_that_says_nothing_new_is_not_written_every_time(
    agent: Caller, django_assert_num_queries: Any
) -> None:
    worker, now = row().worker_id, timezone.now()

    def take(at: Any) -> set[int]:
        same = Reading(index=0, uuid="GPU-w1-0", healthy=True)
        return take_readings({worker: [same]}, allowances={worker: None}, now=at)

    take(now)
    with django_assert_num_queries(1):
        take(now + timedelta(seconds=15))
    with django_assert_num_queries(2):
        take(now + timedelta(seconds=61))


def test_readings_of_a_thousand_workers_cost_what_those_of_one_do(
    agent: Caller, django_assert_max_num_queries: Any
) -> None:
    mine = row().worker_id
    readings = {mine: [Reading(index=index, uuid=f"GPU-w1-{index}", utilisation=50) for index in (0, 1)]}
    with django_assert_max_num_queries(3):
        take_readings(readings | {mine + n: readings[mine] for n in range(1, 1000)}, allowances={}, now=timezone.now())


@pytest.fixture
def running(agent: Caller, mira: User) -> Placed:
    placed = place(agent, "w1", owner=mira, devices=(0,))
    agent.ok(placed.path("claim"), placed.guard)
    return placed


def strays() -> list[tuple[str, str, str]]:
    return list(Event.objects.filter(verb="stray").order_by("pk").values_list("subject_kind", "subject", "after"))


def test_a_task_on_a_device_that_it_does_not_hold_is_told_once_on_job_and_worker(
    agent: Caller, running: Placed
) -> None:
    stray = {"device": 1, "pid": 4711, "task": running.task}
    mine = [(running.task, running.fence)]
    for seq in (1, 2, 3):
        beat(agent, seq, device(0), device(1, foreign_memory=GB), strays=[stray, stray | {"pid": 4712}], running=mine)
    assert strays() == [("job", running.job.job_id, "device 1"), ("worker", "w1", "device 1")]
    event = Event.objects.filter(subject_kind="job", verb="stray").get()
    assert event.cause == f"a process of {running.job.job_id} uses device 1 of w1, which it does not hold"


@pytest.mark.parametrize(
    "stray",
    [
        pytest.param({"device": 0}, id="a device that it holds"),
        pytest.param({"device": 7}, id="a device that is not there"),
        pytest.param({"task": 999_999}, id="a task that nobody knows"),
    ],
)
def test_no_stray_is_made_up(agent: Caller, running: Placed, stray: dict[str, int]) -> None:
    told = {"device": 1, "pid": 1, "task": running.task} | stray
    beat(agent, 1, device(0), device(1), strays=[told], running=[(running.task, running.fence)])
    assert strays() == []


def test_a_task_of_another_worker_is_no_stray_of_this_one(agent: Caller, running: Placed, enrolment: Any) -> None:
    other = enrolment().enrol("w2")
    other.register("w2")
    other.ok("heartbeat", other.beat("w2", strays=[{"device": 1, "pid": 1, "task": running.task}]))
    assert strays() == []


@pytest.mark.parametrize(
    "told",
    [
        {"processes": [{"pid": -1}]}, {"processes": [{"pid": 1, "memory": -1}]}, {"processes": [{"pid": 1}] * 257},
        {"processes": [{"pid": 1, "user": "a\nb"}]}, {"processes": [{"pid": 1, "task": 0}]}, {"uuid": "x" * 501},
        {"utilisation": 101},
    ],
    ids=str,
)  # fmt: skip
def test_readings_have_bounds(agent: Caller, told: dict[str, Any]) -> None:
    assert agent.post("heartbeat", agent.beat(devices=[device() | told])).status_code == 422


def test_the_page_shows_who_uses_what(agent: Caller, running: Placed, client: Client) -> None:
    client.force_login(running.job.owner)
    own = {"pid": 4711, "user": "gpu", "memory": 3 * GB, "task": running.task}
    foreign = {"pid": 99, "user": "<b>mira</b>", "memory": None, "task": None}
    beat(agent, 1, device(0, utilisation=97, memory_used=4 * GB, processes=[own]),
         device(1, processes=[own | {"pid": 4712}, foreign]), running=[(running.task, running.fence)])  # fmt: skip
    text = client.get("/workers/w1").content.decode()
    for words in ("4711", "97 %", "4 GB of 42.9 GB", f"of {running.job.job_id}, which does not hold this device"):
        assert words in text
    assert "&lt;b&gt;mira&lt;/b&gt;" in text
    assert "not gpulayer's" in text
    document = client.get("/api/v1/workers/w1").json()
    assert [len(each["processes"]) for each in document["devices"]] == [1, 2]


def test_pages_tell_of_strays_and_of_health(agent: Caller, running: Placed, client: Client) -> None:
    client.force_login(running.job.owner)
    mine = [(running.task, running.fence)]
    beat(agent, 1, device(0), device(1), running=mine)
    stray = {"device": 1, "pid": 4711, "task": running.task}
    sick = device(1, healthy=False, health_note="Xid 48: an uncorrectable memory error: reset it")
    beat(agent, 2, device(0), sick, strays=[stray], running=mine)
    said = f"{running.job.job_id} uses device 1 of w1, which it does not hold"
    page = client.get("/workers/w1").content.decode()
    for words in (said, "device 1: healthy → unhealthy", "Xid 48: an uncorrectable memory error"):
        assert words in page
    assert said in client.get(f"/jobs/{running.job.job_id}").content.decode()


def test_a_device_of_unknown_health_gets_jobs_and_says_why_nobody_knows(
    agent: Caller, mira: User, client: Client
) -> None:
    agent.register("w1", a_document(gpus=1))
    beat(agent, 1, device(0, healthy=None, health_note="its fan cannot be read: unknown error"))
    client.force_login(mira)
    assert "health unknown: its fan cannot be read: unknown error" in client.get("/workers/w1").content.decode()
    job = a_job(owner=mira, at=timezone.now())
    a_pass(timezone.now())
    assert placements(job) == [("w1", [0])]
