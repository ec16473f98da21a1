"""Calls that wait for work: answered as soon as there is some, and never more of them than half of the threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from scheduler.agent_api import waiting
from scheduler.agent_api.waiting import MOST_EACH, room_to_wait, wait_for_news
from scheduler.services.jobs import cancel_job
from tests.api.callers import Caller, Placed, place
from tests.api.gangs import run
from workers.models import Credential

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def asked(agent: Caller, query: str) -> Iterator[Future[Any]]:
    """The answer to a call that waits in a thread of its own."""

    def call() -> Any:
        try:
            return Caller(agent.secret).get(f"assignments?worker=w1&{query}")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call)


def test_it_is_answered_as_soon_as_there_is_work(agent: Caller, mira: User) -> None:
    with asked(agent, "wait=20") as answer:
        placed = place(agent, "w1", owner=mira)
        since = time.monotonic()
        told = answer.result(timeout=30).json()
    assert [each["task"] for each in told["assignments"]] == [placed.task]
    assert time.monotonic() - since < 15


def test_it_is_answered_as_soon_as_something_is_to_be_stopped(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    with asked(agent, "wait=20") as answer:
        cancel_job(job=placed.job, actor="user:mira", now=timezone.now())
        assert answer.result(timeout=30).json()["cancel"] == [placed.task]


def test_what_was_told_before_is_told_again_at_a_pace(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    cancel_job(job=placed.job, actor="user:mira", now=timezone.now())
    since = time.monotonic()
    answer = agent.get("assignments?worker=w1&wait=20")
    assert answer.json()["cancel"] == [placed.task]
    assert 0.9 < time.monotonic() - since < 18


def test_nothing_is_204_when_the_time_is_over(agent: Caller) -> None:
    answer = agent.get("assignments?worker=w1&wait=0.3")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Retry-After" not in answer


def test_without_wait_it_is_answered_at_once(agent: Caller) -> None:
    assert agent.get("assignments?worker=w1").json() == {"assignments": [], "cancel": []}


def test_half_of_the_threads_may_wait_and_the_others_come_again(agent: Caller, mira: User) -> None:
    with ExitStack() as stack:
        got = [stack.enter_context(room_to_wait(number)) for number in range(settings.GPULAYER_WEB_THREADS)]
        assert got.count(True) == settings.GPULAYER_WEB_THREADS // 2
        since = time.monotonic()
        answer = agent.get("assignments?worker=w1&wait=20")
        assert (answer.status_code, answer["Retry-After"]) == (204, "1")
        assert time.monotonic() - since < 15
        place(agent, "w1", owner=mira)
        assert agent.get("assignments?worker=w1&wait=20").status_code == 200, "what there is, is told all the same"
    with room_to_wait(1) as room:
        assert room


def test_a_wait_ends_when_the_credential_is_revoked(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "RECHECK_SECONDS", 0.1)
    with asked(agent, "wait=30") as answer:
        Credential.objects.update(revoked_at=timezone.now())
        told = answer.result(timeout=20)
    assert (told.status_code, told.json()["code"]) == (401, "credential_revoked")


def test_one_caller_has_only_a_few_waiting_calls() -> None:
    with ExitStack() as stack:
        got = [stack.enter_context(room_to_wait(1)) for _ in range(MOST_EACH + 1)]
        assert got == [True] * MOST_EACH + [False]
        assert stack.enter_context(room_to_wait(2)), "others are not kept from it"


@pytest.mark.parametrize("wait", ["-1", "31", "nan", "inf", "soon"])
def test_a_wait_is_a_number_of_seconds(agent: Caller, wait: str) -> None:
    answer = agent.get(f"assignments?wait={wait}")
    assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "wait")


def test_the_room_is_given_back_when_the_look_fails() -> None:
    def fails() -> frozenset[int]:
        raise ConnectionError

    for _ in range(settings.GPULAYER_WEB_THREADS):
        with pytest.raises(ConnectionError), room_to_wait(1):
            wait_for_news(fails, known=frozenset(), seconds=1, recheck=lambda: None)
    with room_to_wait(1) as room:
        assert room
    assert threading.active_count() < 100
