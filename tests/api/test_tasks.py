"""A task's life as its agent reports it: claim, started, log, finish, release; repeated, late and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from scheduler.models import Attempt, DeviceHold, Event, Job, Task
from scheduler.services.jobs import cancel_job
from tests.api.callers import Caller, Placed, assigned, frames, place

pytestmark = pytest.mark.django_db

START: dict[str, Any] = {"pid": 4711, "workdir": "/tmp/job"}
WELL = {"exit_code": 0, "signal": None, "duration_ms": 1200, "log_size": 0, "start_error": None, "timed_out": False}
BODIES: dict[str, dict[str, Any]] = {"claim": {}, "started": START, "finish": WELL, "release": {}}


def run(agent: Caller, placed: Placed) -> None:
    """Claim and start the task."""
    agent.ok(placed.path("claim"), placed.guard)
    agent.ok(placed.path("started"), {**placed.guard, **START})


def end(placed: Placed, **how: Any) -> dict[str, Any]:
    """The body of a finish report."""
    return {**placed.guard, **WELL, **how}


def states(placed: Placed) -> tuple[str, str, str]:
    """Of the task, its attempt and its job."""
    row = placed.row()
    return row.state, row.attempt.state, row.attempt.job.state


def test_a_task_lives_from_its_claim_to_its_release(agent: Caller, placed: Placed) -> None:
    claim = agent.ok(placed.path("claim"), placed.guard)
    assert claim == {
        "task": placed.task, "fence": placed.fence, "job_id": placed.job.job_id, "attempt": 1, "rank": 0, "go": True,
        "argv": ["true"], "workdir": None, "env": {}, "secrets": {}, "environment": "default",
        "devices": [{"index": 0, "uuid": "GPU-w1-0"}], "timeout_s": None, "simulated": False,
        "lease_seconds": None, "gang": None, "files": None, "hold": None, "run_as": None, "submitter": "mira",
        "outputs_limit_bytes": 2**30,
    }  # fmt: skip
    assert states(placed) == ("claimed", "assigned", "assigned")
    agent.ok(placed.path("started"), {**placed.guard, **START})
    assert states(placed) == ("running", "running", "running")
    assert agent.put_log(placed, frames("hello\n")).json() == {"size": 19}
    agent.ok(placed.path("finish"), end(placed))
    assert states(placed) == ("succeeded", "succeeded", "succeeded")
    assert DeviceHold.objects.filter(released_at=None).count() == 1
    agent.ok(placed.path("release"), placed.guard)
    assert DeviceHold.objects.filter(released_at=None).count() == 0


def test_every_call_may_be_repeated(agent: Caller, placed: Placed) -> None:
    bodies = {"claim": placed.guard, "started": {**placed.guard, **START}, "finish": end(placed)}
    for call, body in {**bodies, "release": placed.guard}.items():
        first = agent.ok(placed.path(call), body)
        events = Event.objects.count()
        assert agent.ok(placed.path(call), body) == first
        assert Event.objects.count() == events


def test_old_calls_that_arrive_again_change_nothing(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed))
    agent.ok(placed.path("release"), placed.guard)
    events = Event.objects.count()
    late = {
        "claim": agent.post(placed.path("claim"), placed.guard).status_code,
        "started": agent.post(placed.path("started"), {**placed.guard, **START}).status_code,
        "finish": agent.post(placed.path("finish"), end(placed)).status_code,
    }
    assert late == {"claim": 409, "started": 200, "finish": 200}
    assert states(placed) == ("succeeded", "succeeded", "succeeded")
    assert Event.objects.count() == events


@pytest.mark.parametrize(
    ("how", "task", "job", "code"),
    [
        pytest.param({"exit_code": 0}, "succeeded", "succeeded", "", id="exit code 0: succeeded"),
        pytest.param({"exit_code": 3}, "failed", "failed", "exit_code", id="exit code 3: failed"),
        pytest.param({"exit_code": None, "signal": 9}, "failed", "failed", "signal", id="killed: failed"),
        pytest.param({"exit_code": 1, "timed_out": True}, *["timed_out"] * 3, id="too long: timed out"),
        pytest.param(
            {"exit_code": None, "start_error": {"code": "workdir_missing", "detail": "no /data on w1"}},
            "failed", "failed", "workdir_missing", id="not started: failed",
        ),
    ],
)  # fmt: skip
def test_the_end_of_a_task_decides_its_job(
    agent: Caller, placed: Placed, how: dict[str, Any], task: str, job: str, code: str
) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed, **how))
    assert states(placed) == (task, task, job)
    row = Job.objects.get()
    assert (row.exit_code, row.failure_code) == (how["exit_code"], code)
    assert row.finished_at is not None


def test_a_task_that_could_not_be_started_ends_without_having_run(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    error = {"code": "command_missing", "detail": "no such program: trane"}
    agent.ok(placed.path("finish"), end(placed, exit_code=None, start_error=error))
    assert states(placed) == ("failed", "failed", "failed")
    assert Job.objects.get().failure_text == "no such program: trane"


def test_of_two_different_reports_the_first_stands_and_the_other_is_evidence(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed, exit_code=3))
    for _ in range(2):
        answer = agent.post(placed.path("finish"), end(placed, exit_code=0))
        assert (answer.status_code, answer.json()["code"]) == (409, "already_finished")
    assert states(placed) == ("failed", "failed", "failed")
    assert [event.detail["exit_code"] for event in Event.objects.filter(verb="late_report")] == [0]


@pytest.mark.parametrize("call", ["claim", "started", "finish", "release"])
@pytest.mark.parametrize(
    ("wrong", "code"), [({"fence": 999}, "stale_fence"), ({"epoch": 999}, "stale_epoch")], ids=["fence", "epoch"]
)
def test_nothing_is_done_for_a_wrong(
    agent: Caller, placed: Placed, call: str, wrong: dict[str, int], code: str
) -> None:
    body = BODIES[call]
    answer = agent.post(placed.path(call), {**placed.guard, **body, **wrong})
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert states(placed) == ("assigned", "assigned", "assigned")


@pytest.mark.parametrize("call", ["claim", "started", "finish", "release"])
def test_another_workers_task_is_not_found(placed: Placed, enrolment: Callable[..., Caller], call: str) -> None:
    other = enrolment().enrol("w2")
    other.register("w2")
    body = BODIES[call]
    answer = other.post(placed.path(call), {**placed.guard, **body})
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_task")
    assert other.put_log(placed, frames("x")).status_code == 404
    assert states(placed) == ("assigned", "assigned", "assigned")


@pytest.mark.parametrize(
    ("call", "code"), [("started", "not_claimed"), ("finish", "not_claimed"), ("release", "not_finished")]
)
def test_a_task_that_was_not_claimed_cannot_be(agent: Caller, placed: Placed, call: str, code: str) -> None:
    body = BODIES[call]
    answer = agent.post(placed.path(call), {**placed.guard, **body})
    assert (answer.status_code, answer.json()["code"]) == (409, code)


def test_a_job_cancelled_before_its_claim_is_revoked_at_once(agent: Caller, placed: Placed) -> None:
    cancel_job(job=placed.job, actor="user:mira", now=timezone.now())
    assert states(placed) == ("revoked", "cancelled", "cancelled")
    assert agent.post(placed.path("claim"), placed.guard).json()["code"] == "not_assigned"
    assert agent.ok("heartbeat", agent.beat())["assignments"] == []
    assert not DeviceHold.objects.filter(released_at=None).exists()


@pytest.mark.parametrize(
    ("how", "end_state"),
    [
        pytest.param({"exit_code": None, "signal": 15}, "cancelled", id="stopped"),
        pytest.param({"exit_code": 0}, "succeeded", id="finished by itself in time"),
    ],
)
def test_a_running_job_is_cancelled_by_what_its_agent_says(
    agent: Caller, placed: Placed, how: dict[str, Any], end_state: str
) -> None:
    run(agent, placed)
    cancel_job(job=placed.job, actor="user:mira", now=timezone.now())
    assert states(placed) == ("running", "running", "cancelling")
    assert agent.ok("heartbeat", agent.beat(running=[(placed.task, placed.fence)]))["cancel"] == [placed.task]
    assert agent.get("assignments?worker=w1").json()["cancel"] == [placed.task]
    agent.ok(placed.path("finish"), end(placed, **how))
    assert states(placed) == (end_state, end_state, end_state)


def test_a_claimed_task_that_is_cancelled_before_its_start_ends_as_cancelled(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    cancel_job(job=placed.job, actor="user:mira", now=timezone.now())
    agent.ok(placed.path("finish"), end(placed, exit_code=None, signal=15))
    assert states(placed) == ("cancelled", "cancelled", "cancelled")


STOPPED = {"code": "agent_stopped", "detail": "its agent was stopped and ended it"}


def test_what_an_agent_ended_by_its_own_says_so(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed, exit_code=None, signal=15, ended_by=STOPPED))
    job = Job.objects.get()
    assert (job.state, job.failure_code, job.failure_text) == ("failed", "agent_stopped", STOPPED["detail"])


def test_what_an_agent_ended_before_its_start_goes_back_to_the_queue(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    agent.ok(placed.path("finish"), end(placed, exit_code=None, signal=15, ended_by=STOPPED))
    assert states(placed) == ("revoked", "revoked", "queued")
    agent.ok(placed.path("release"), placed.guard)


def test_an_end_that_an_agent_brought_about_counts_as_lost_for_retries(agent: Caller, mira: User) -> None:
    first = place(agent, "w1", owner=mira, retries={"max": 1, "on": ["lost"]})
    run(agent, first)
    agent.ok(first.path("finish"), end(first, exit_code=None, signal=15, ended_by=STOPPED))
    assert states(first) == ("failed", "failed", "queued")


def test_a_failed_attempt_is_repeated_as_often_as_the_document_allows(agent: Caller, mira: User) -> None:
    first = place(agent, "w1", owner=mira, retries={"max": 1, "on": ["failed"]})
    run(agent, first)
    agent.ok(first.path("finish"), end(first, exit_code=3))
    assert states(first) == ("failed", "failed", "queued")
    agent.ok(first.path("release"), first.guard)
    second = assigned(agent, Job.objects.get(), "w1", now=timezone.now())
    assert second.fence > first.fence
    run(agent, second)
    agent.ok(second.path("finish"), end(second, exit_code=4))
    assert states(second) == ("failed", "failed", "failed")
    assert Job.objects.get().exit_code == 4


def test_every_change_of_state_left_one_event(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    agent.ok(placed.path("finish"), end(placed))
    subjects = {"task": str(placed.task), "attempt": str(Attempt.objects.get().pk), "job": placed.job.job_id}
    trails = {
        kind: list(
            Event.objects.filter(subject_kind=kind, subject=subject, verb="state")
            .order_by("pk")
            .values_list("after", flat=True)
        )
        for kind, subject in subjects.items()
    }
    assert trails == {
        "task": ["claimed", "running", "succeeded"],
        "attempt": ["running", "succeeded"],
        "job": ["assigned", "running", "succeeded"],
    }


def test_the_fence_in_a_log_call_is_asked_for(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    answer = agent.put_log(placed, frames("x"), fence=placed.fence + 1)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale_fence")
    assert Task.objects.get().log_size == 0
