"""Holds over HTTP: who holds what until when, extended within limits, released once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from scheduler.models import Event, Job, Reservation
from tests.api.callers import Caller, Placed, place
from tests.api.test_people import Person, caller_of
from workers.models import Worker

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture
def as_mira(mira: User) -> Person:
    return caller_of(mira)


@pytest.fixture
def held(agent: Caller, mira: User) -> Placed:
    """A device that is mira's for four hours."""
    Worker.objects.update(host={"address": "w1.lab", "user": "agent"})
    placed = place(agent, "w1", owner=mira, command=None, hold_s=4 * HOUR)
    claim = agent.ok(placed.path("claim"), placed.guard)
    assert claim["hold"] == {"seconds": 4 * HOUR, "until": None, "user": ""}
    assert claim["argv"] == []
    agent.ok(placed.path("started"), {**placed.guard, "pid": 1, "workdir": ""})
    return placed


def told(agent: Caller, held: Placed, seq: int) -> dict[str, Any]:
    return agent.ok("heartbeat", agent.beat(seq=seq, running=[(held.task, held.fence)]))


def test_the_job_says_until_when_and_how_to_get_there(held: Placed, as_mira: Person) -> None:
    job = as_mira("GET", f"jobs/{held.job.job_id}").json()
    row = Job.objects.get()
    assert row.hold_until == row.started_at + timedelta(hours=4)
    assert job["hold"]["access"] == [
        {
            "worker": "w1", "ssh": "ssh agent@w1.lab", "devices": ["GPU-w1-0"],
            "export": "export CUDA_VISIBLE_DEVICES=GPU-w1-0",
        }
    ]  # fmt: skip
    assert job["answer"].startswith("Held by mira until ")


def test_others_are_not_told_how_to_get_there(held: Placed, db: None) -> None:
    other = caller_of(User.objects.create_user("noor"))
    job = other("GET", f"jobs/{held.job.job_id}").json()
    assert job["hold"]["access"] == []
    assert job["hold"]["until"] is not None


def test_a_release_reaches_the_agent_and_the_job_has_succeeded(agent: Caller, held: Placed, as_mira: Person) -> None:
    assert told(agent, held, 1)["cancel"] == []
    for _ in range(2):
        assert as_mira("POST", f"jobs/{held.job.job_id}/hold/release").status_code == 200
    assert told(agent, held, 2)["cancel"] == [held.task]
    agent.ok(held.path("finish"), {**held.guard, "exit_code": 0, "duration_ms": 1, "log_size": 0})
    assert Job.objects.get().state == "succeeded"
    assert as_mira("POST", f"jobs/{held.job.job_id}/hold/release").json()["state"] == "succeeded"
    assert Event.objects.filter(verb="hold_released").count() == 1


def test_an_extension_reaches_the_agent(agent: Caller, held: Placed, as_mira: Person) -> None:
    (before,) = told(agent, held, 1)["holds"]
    assert before["task"] == held.task
    assert before["seconds"] == pytest.approx(4 * HOUR, abs=60)
    answer = as_mira("POST", f"jobs/{held.job.job_id}/hold/extend", {"seconds": HOUR})
    assert answer.status_code == 200
    (after,) = told(agent, held, 2)["holds"]
    assert after["seconds"] == pytest.approx(5 * HOUR, abs=60)


@pytest.mark.parametrize(
    ("asked", "seconds", "status"),
    [
        pytest.param(4 * HOUR, 24 * HOUR, 200, id="24 hours past its first end"),
        pytest.param(4 * HOUR, 24 * HOUR + 60, 409, id="and no minute more"),
        pytest.param(6.5 * 24 * HOUR, 12 * HOUR, 200, id="7 days in all"),
        pytest.param(6.5 * 24 * HOUR, 12 * HOUR + 60, 409, id="and no minute beyond these"),
        pytest.param(4 * HOUR, 59, 422, id="less than a minute"),
        pytest.param(4 * HOUR, -HOUR, 422, id="less than nothing"),
    ],
)
def test_how_long_it_can_last(held: Placed, as_mira: Person, asked: float, seconds: int, status: int) -> None:
    job = Job.objects.get()
    job.spec["hold_s"] = int(asked)
    job.hold_until = job.started_at + timedelta(seconds=asked)
    job.save()
    answer = as_mira("POST", f"jobs/{held.job.job_id}/hold/extend", {"seconds": seconds})
    assert answer.status_code == status, answer.content
    if status == 409:
        assert answer.json()["code"] == "hold_too_long"


@pytest.mark.parametrize(
    ("holder", "devices", "status"),
    [
        pytest.param("user:noor", [], 409, id="the worker, for another"),
        pytest.param("user:noor", [0], 409, id="its device, for another"),
        pytest.param("user:noor", [1], 200, id="another device"),
        pytest.param("user:mira", [], 200, id="for itself"),
    ],
)
@pytest.mark.parametrize("begins", [5.5, 3.0], ids=["to come", "begun by its end"])
def test_it_does_not_last_into_what_others_reserved(
    held: Placed, as_mira: Person, holder: str, devices: list[int], status: int, begins: float
) -> None:
    """It may have been placed there only because it ends before."""
    worker, now = Worker.objects.get(), timezone.now()
    starts = now + timedelta(hours=begins)
    Reservation.objects.create(worker=worker, holder=holder, devices=devices, starts_at=starts, created_at=now)
    answer = as_mira("POST", f"jobs/{held.job.job_id}/hold/extend", {"seconds": 2 * HOUR})
    assert answer.status_code == status, answer.content
    if status == 409:
        assert f"w1 for others from {starts:%Y-%m-%d}" in answer.json()["detail"]
        assert answer.json()["code"] == "hold_too_long"
        fits = as_mira("POST", f"jobs/{held.job.job_id}/hold/extend", {"seconds": HOUR})
        assert fits.status_code == (200 if begins > 5 else 409)


def test_what_is_not_held_cannot_be_extended(agent: Caller, held: Placed, as_mira: Person) -> None:
    waiting = as_mira("POST", "jobs", {"name": "x", "hold_s": HOUR, "target": "local"}).json()["job_id"]
    command = as_mira("POST", "jobs", {"name": "x", "command": ["true"], "target": "local"}).json()["job_id"]
    Job.objects.filter(pk=held.job.pk).update(hold_until=timezone.now())
    codes = [
        as_mira("POST", f"jobs/{job_id}/hold/extend", {"seconds": HOUR}).json()["code"]
        for job_id in (waiting, command, held.job.job_id)
    ]
    assert codes == ["not_held", "no_hold", "not_held"]
    assert as_mira("POST", f"jobs/{waiting}/hold/release").json()["state"] == "cancelled"


def test_only_its_owner_and_operators_release_and_extend(held: Placed, db: None) -> None:
    other = caller_of(User.objects.create_user("noor"))
    operator = caller_of(User.objects.create_user("ada", is_staff=True))
    for call, body in (("extend", {"seconds": HOUR}), ("release", None)):
        address = f"jobs/{held.job.job_id}/hold/{call}"
        assert (other("POST", address, body).status_code, operator("POST", address, body).status_code) == (403, 200)


def test_a_hold_that_is_over_is_ended_though_its_agent_counts_otherwise(agent: Caller, held: Placed) -> None:
    Job.objects.update(hold_until=timezone.now() - timedelta(seconds=1))
    answer = told(agent, held, 1)
    assert answer["cancel"] == [held.task]
    assert answer["holds"] == [{"task": held.task, "seconds": 0}]
