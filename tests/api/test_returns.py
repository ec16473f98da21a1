"""What a worker finds when it comes back: its tasks, those it lost, and those it must let go."""

from __future__ import annotations

import pytest
from django.utils import timezone

from scheduler.models import DeviceHold, Event, Job
from tests.api.callers import Caller, Placed, assigned
from tests.api.test_tasks import end, run, states

pytestmark = pytest.mark.django_db


def test_what_a_superseded_attempt_reports_is_refused(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    agent.register("w1")
    assert states(placed) == ("revoked", "revoked", "queued")
    second = assigned(agent, placed.job, "w1", now=timezone.now())
    answer = agent.post(placed.path("finish"), end(placed))
    assert (answer.status_code, answer.json()["code"]) == (409, "task_over")
    wrong = agent.post(second.path("claim"), placed.guard)
    assert (wrong.status_code, wrong.json()["code"]) == (409, "stale_fence")
    assert states(second) == ("assigned", "assigned", "assigned")
    assert Event.objects.filter(verb="late_report").count() == 1


def test_a_worker_that_returns_with_its_task_goes_on_with_it(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    answer = agent.register("w1", running=[(placed.task, placed.fence)])
    assert (answer["adopt"], answer["kill"], answer["forget"]) == ([placed.task], [], [])
    assert states(placed) == ("running", "running", "running")


def test_a_worker_that_returns_without_its_task_has_lost_it(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.register("w1", running=[])
    assert states(placed) == ("lost", "lost", "failed")
    assert Job.objects.get().failure_code == "lost"
    assert not DeviceHold.objects.filter(released_at=None).exists()
    assert agent.post(placed.path("finish"), end(placed)).json()["code"] == "task_over"


def test_a_task_that_waits_to_be_claimed_survives_a_registration(agent: Caller, placed: Placed) -> None:
    agent.register("w1")
    assert states(placed) == ("assigned", "assigned", "assigned")


def test_a_returning_worker_is_told_what_to_kill_and_what_to_forget(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed))
    agent.ok(placed.path("release"), placed.guard)
    answer = agent.register("w1", running=[(placed.task, placed.fence), (placed.task + 1000, 1)])
    assert (answer["adopt"], answer["kill"], answer["forget"]) == ([], [placed.task + 1000], [placed.task])


def test_a_heartbeat_kills_what_is_not_the_workers(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    told = agent.ok("heartbeat", agent.beat(running=[(placed.task, placed.fence), (placed.task + 7, 1)]))
    assert told["kill"] == [placed.task + 7]
    told = agent.ok("heartbeat", agent.beat(seq=2, running=[(placed.task, placed.fence + 1)]))
    assert told["kill"] == [placed.task]
