"""The database fails at any statement of any call: 503, and nothing of it is done or all of it; again, it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import serializers
from django.db import IntegrityError, OperationalError, connection

from scheduler.models import Attempt, DeviceHold, Event, Job, Task
from tests.api.callers import Caller, Placed, place
from tests.api.gangs import RERUN, claim, place_gang, run, start
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)

ERRORS = {
    "locked": OperationalError("database is locked"),
    "deadlock": OperationalError("deadlock detected"),
    "serialization": OperationalError("could not serialize access due to concurrent update"),
    "integrity": IntegrityError("UNIQUE constraint failed"),
}
END = {"exit_code": 3, "signal": None, "duration_ms": 5, "log_size": 0, "start_error": None, "timed_out": False}
MOST = 120
"""More statements than any call has."""


class FailsAt:
    """Refuses the n-th statement of a call."""

    def __init__(self, number: int, error: Exception) -> None:
        self.number, self.error, self.count = number, error, 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.count += 1
        if self.count == self.number:
            raise self.error
        return execute(sql, params, many, context)


def everything() -> str:
    """All rows that a report may change, as text."""
    models = (Job, Attempt, Task, DeviceHold, Event, Worker)
    rows = [row for model in models for row in model._default_manager.order_by("pk")]
    return serializers.serialize("json", rows)


@pytest.fixture
def lives(pair: list[Caller], mira: User) -> Callable[[str], tuple[Caller, Placed, dict[str, Any]]]:
    """A task that stands right before the call of this name, and the call's body."""

    def before(call: str) -> tuple[Caller, Placed, dict[str, Any]]:
        agent = pair[0]
        if call == "last claim":
            first, second = place_gang(pair, mira, retries=RERUN)
            claim(pair[1], second)
            return agent, first, {**first.guard, "master_port": 29_511}
        placed = place(agent, "w1", owner=mira, retries=RERUN)
        if call == "claim":
            return agent, placed, placed.guard
        claim(agent, placed)
        if call == "started":
            return agent, placed, {**placed.guard, "pid": 1, "workdir": "/tmp"}
        if call == "decline":
            return agent, placed, {**placed.guard, "code": "device_busy", "detail": "held by another"}
        start(agent, placed)
        if call == "finish":
            return agent, placed, {**placed.guard, **END}
        agent.ok(placed.path("finish"), {**placed.guard, **END})
        return agent, placed, placed.guard

    return before


def every_statement(error: Exception, act: Callable[[], Any]) -> Iterator[tuple[int, Any]]:
    """The answers of the call when its first statement fails, its second, … until it gets through."""
    for number in range(1, MOST):
        failing = FailsAt(number, error)
        with connection.execute_wrapper(failing):
            answer = act()
        yield number, answer
        if failing.count < number:
            return
    raise AssertionError("the call never gets through")


@pytest.mark.parametrize("error", list(ERRORS))
@pytest.mark.parametrize("call", ["claim", "last claim", "started", "decline", "finish", "release"])
def test_a_call_is_done_whole_or_not_at_all(
    lives: Callable[[str], tuple[Caller, Placed, dict[str, Any]]], call: str, error: str
) -> None:
    agent, placed, body = lives(call)
    path = placed.path(call.removeprefix("last "))
    stands, refused = [everything()], 0
    for number, answer in every_statement(ERRORS[error], lambda: agent.post(path, body)):
        assert answer.status_code in (200, 503), f"statement {number}: {answer.content}"
        if answer.status_code == 503:
            refused += 1
            assert answer["Retry-After"]
        if (now := everything()) != stands[-1]:
            stands.append(now)
    assert refused >= 3
    assert len(stands) == 2, "it was done in one step, by one of the calls"
    assert agent.post(path, body).status_code == 200
    assert everything() == stands[-1], "the call again changes nothing"
    if call == "finish":
        assert Job.objects.get().state == "failed"


def test_a_beat_that_fails_midway_is_as_good_as_none(pair: list[Caller], mira: User) -> None:
    placed = place(pair[0], "w1", owner=mira, retries=RERUN)
    run(pair[0], placed)
    Task.objects.update(state="unknown")
    told = pair[0].beat(seq=7, running=[(placed.task, placed.fence)])
    for _, answer in every_statement(ERRORS["locked"], lambda: pair[0].post("heartbeat", told)):
        assert answer.status_code in (200, 503)
    assert pair[0].post("heartbeat", {**told, "seq": 8}).status_code == 200
    assert Task.objects.get().state == "running"
    assert Attempt.objects.get().state == "running"
