"""Calls at the same moment, twice, late and in any order: one of them counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from scheduler.models import DeviceHold, Event, Job, Task
from scheduler.services.jobs import cancel_job
from tests.api.callers import Caller, Placed, frames, place
from workers.models import EnrolmentToken, Worker

pytestmark = pytest.mark.django_db(transaction=True)

END = {"exit_code": 0, "signal": None, "duration_ms": 5, "log_size": 17, "start_error": None, "timed_out": False}


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The answers of calls that run at the same time, each with a connection of its own."""

    def one(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(one, call) for call in calls]]


def test_of_many_at_once_one_gets_in_with_a_token_for_one(enrolment: Callable[..., Caller]) -> None:
    secret = enrolment().secret
    answers = at_once(
        *(
            lambda name=f"w{number}": Caller(secret).post("enroll", Caller.enrolment(name)).status_code
            for number in range(8)
        )
    )
    assert sorted(answers) == [200, *[401] * 7]
    assert Worker.objects.count() == 1
    assert EnrolmentToken.objects.get().uses_left == 0


@pytest.mark.parametrize("turn", range(5))
def test_a_cancellation_that_races_the_end_leaves_one_end(agent: Caller, mira: User, turn: int) -> None:
    cancelled_as_it_ends(agent, mira, turn)


@pytest.mark.soak
def test_1000_cancellations_that_race_the_end_leave_one_end_each(agent: Caller, mira: User) -> None:
    for turn in range(1000):
        placed = cancelled_as_it_ends(agent, mira, turn)
        agent.ok(placed.path("release"), placed.guard)
        Worker.objects.update(trusted_since=timezone.now())


def cancelled_as_it_ends(agent: Caller, mira: User, turn: int) -> Placed:
    """A job is cancelled at the moment at which it ends, well or by a signal."""
    placed = place(agent, "w1", owner=mira)
    agent.ok(placed.path("claim"), placed.guard)
    agent.ok(placed.path("started"), {**placed.guard, "pid": 1, "workdir": ""})
    body = {**placed.guard, **END, "exit_code": None, "signal": 15} if turn % 2 else {**placed.guard, **END}
    answers = at_once(
        lambda: Caller(agent.secret).post(placed.path("finish"), body).status_code,
        lambda: cancel_job(job=placed.job, actor="user:mira", now=timezone.now()) and 200,
    )
    assert answers == [200, 200]
    task = Task.objects.get(pk=placed.task)
    job = Job.objects.get(pk=placed.job.pk)
    assert task.state == job.state
    assert job.state in (("cancelled", "failed") if turn % 2 else ("succeeded",))
    ends = Event.objects.filter(subject_kind="job", subject=job.job_id, after=job.state)
    assert ends.count() == 1
    return placed


def test_chunks_that_arrive_twice_at_once_are_stored_once(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    chunk = frames("one\n")
    answers = at_once(*[lambda: Caller(agent.secret).put_log(placed, chunk).json()["size"]] * 4)
    assert answers == [17] * 4
    assert Task.objects.get().log_size == 17


@pytest.mark.parametrize("seed", range(4))
def test_repeated_and_reordered_calls_come_to_the_same_end(agent: Caller, placed: Placed, seed: int) -> None:
    rng = random.Random(seed)
    guard = placed.guard
    life = [
        lambda: agent.post(placed.path("claim"), guard),
        lambda: agent.post(placed.path("started"), {**guard, "pid": 1, "workdir": ""}),
        lambda: agent.put_log(placed, frames("one\n")),
        lambda: agent.post(placed.path("finish"), {**guard, **END}),
        lambda: agent.post(placed.path("release"), guard),
    ]
    for step in life:
        for stray in rng.choices(life, k=rng.randint(0, 3)):
            assert stray().status_code in (200, 409)
        step()
    for step in life:
        step()
    task = Task.objects.get()
    assert (task.state, task.attempt.state, task.attempt.job.state) == ("succeeded",) * 3
    assert task.log_size == 17
    assert not DeviceHold.objects.filter(released_at=None).exists()
    moves = Event.objects.filter(subject_kind="task", verb="state").order_by("pk")
    assert list(moves.values_list("after", flat=True)) in (
        ["claimed", "running", "succeeded"],
        ["claimed", "succeeded"],
    )


def test_a_busy_database_is_told_as_such(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from scheduler.agent_api import sessions

    def busy(*_: Any, **__: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(sessions, "orders", busy)
    answer = agent.get("assignments")
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "unavailable", "2")


def test_a_stranger_cannot_keep_anybody_busy_with_a_large_body(db: None) -> None:
    answer = Client().generic("POST", "/api/agent/v1/heartbeat", b"{}", CONTENT_LENGTH=str(3 * 1024 * 1024))
    assert answer.status_code == 413
