"""Jobs that harm their hosts, hosts that harm their jobs, and who is kept from whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.models import Event, Job
from scheduler.queue import take_queue
from scheduler.services.jobs import submit_job
from scheduler.services.pausing import resume_job
from tests.api.callers import Caller, Placed, assigned, place
from tests.api.conftest import enrolled
from tests.api.gangs import Time, beat, claim, finish, held, release, run, states
from workers.models import Health, Worker

pytestmark = pytest.mark.django_db


def ended(agent: Caller, job: Job, code: str) -> Placed:
    """The job runs once more, and its agent says that it ended so."""
    placed = assigned(agent, Job.objects.get(pk=job.pk), "w1", now=timezone.now())
    run(agent, placed)
    finish(agent, placed, exit_code=None, signal=9, ended_by={"code": code, "detail": "it is gone"})
    release(agent, placed)
    return placed


def queued(owner: User, **fields: Any) -> Job:
    document = {"name": "a job", "command": ["true"], "target": "local", "resources": {"gpus": 1}, **fields}
    return submit_job(document=document, owner=owner, now=timezone.now())


@pytest.mark.parametrize(
    ("codes", "state", "paused"),
    [
        pytest.param(["shim_ended", "shim_ended"], "paused", "poison", id="two crashes"),
        pytest.param(["agent_ended", "shim_ended"], "paused", "poison", id="of two kinds"),
        pytest.param(["lease_over", "shim_ended"], "paused", "poison", id="a loss and a crash"),
        pytest.param(["lease_over", "lease_over"], "queued", "", id="two losses: a bad network"),
        pytest.param(["agent_stopped", "shim_ended"], "queued", "", id="an orderly stop is no sign"),
        pytest.param(["agent_stopped"] * 3, "queued", "", id="three orderly stops"),
        pytest.param(["shim_ended"], "queued", "", id="one crash"),
    ],
)
def test_a_job_that_takes_its_agent_with_it_twice_is_paused(
    agent: Caller, mira: User, codes: list[str], state: str, paused: str
) -> None:
    job = queued(mira, retries={"max": 9})
    for code in codes:
        ended(agent, job, code)
    job.refresh_from_db()
    assert (job.state, job.paused_code) == (state, paused)
    assert ("w1" in job.paused_text) is bool(paused)
    assert held() == 0


def test_a_poison_job_that_was_resumed_has_two_more_tries(agent: Caller, mira: User) -> None:
    job = queued(mira, retries={"max": 9})
    for _ in range(2):
        ended(agent, job, "shim_ended")
    resume_job(job=job, actor="user:mira", now=timezone.now())
    ended(agent, job, "shim_ended")
    assert Job.objects.get().state == "queued"
    ended(agent, job, "shim_ended")
    assert Job.objects.get().state == "paused"


def test_a_job_without_retries_left_ends_instead(agent: Caller, mira: User) -> None:
    job = queued(mira, retries={"max": 1})
    for _ in range(2):
        ended(agent, job, "shim_ended")
    job.refresh_from_db()
    assert (job.state, job.failure_code) == ("failed", "shim_ended")


def fail(agent: Caller, owner: User, **how: Any) -> Job:
    placed = place(agent, "w1", owner=owner)
    run(agent, placed)
    finish(agent, placed, **{"exit_code": 1, **how})
    release(agent, placed)
    return placed.job


def health() -> tuple[str, str]:
    worker = Worker.objects.get(name="w1")
    return worker.health, worker.health_note


def test_a_worker_on_which_three_jobs_fail_at_once_is_taken_out(agent: Caller, mira: User) -> None:
    first, second = fail(agent, mira), fail(agent, mira)
    assert health() == (Health.OK, "")
    third = fail(agent, mira)
    state, note = health()
    assert state == Health.UNHEALTHY
    assert all(job.job_id in note for job in (first, second, third))
    agent.register("w1")
    assert health()[0] == Health.UNHEALTHY, "only an operator clears it"


@pytest.mark.parametrize("between", ["a success", "a slow failure does not count", "the same job again"])
def test_a_worker_is_not_taken_out_with(
    clock: Time, enrolment: Callable[..., Caller], mira: User, between: str
) -> None:
    agent = enrolled(enrolment(), "w1")
    fail(agent, mira)
    fail(agent, mira)
    if between == "a success":
        fail(agent, mira, exit_code=0)
        fail(agent, mira)
    elif between == "the same job again":
        job = Job.objects.order_by("-pk").first()
        assert job is not None
        Job.objects.filter(pk=job.pk).update(state="queued", finished_at=None)
        placed = assigned(agent, Job.objects.get(pk=job.pk), "w1", now=clock.now)
        run(agent, placed)
        finish(agent, placed, exit_code=1)
    else:
        placed = place(agent, "w1", owner=mira)
        run(agent, placed)
        for seq in range(1, 15):
            clock.passes(5)
            beat(agent, placed, seq=seq)
        finish(agent, placed, exit_code=1)
    assert health() == (Health.OK, "")


def test_an_operator_calls_it_well_again_and_it_starts_anew(agent: Caller, mira: User) -> None:
    for _ in range(3):
        fail(agent, mira)
    client = Client()
    client.force_login(mira)
    assert client.post("/api/v1/workers/w1/trust").status_code == 403
    client.force_login(User.objects.create_user("ada", is_staff=True))
    answer = client.post("/api/v1/workers/w1/trust")
    assert (answer.status_code, answer.json()["health"]) == (200, "ok")
    fail(agent, mira)
    fail(agent, mira)
    assert health() == (Health.OK, "")
    assert Event.objects.filter(subject="w1", verb="health", after="ok", actor="user:ada").count() == 1
    fail(agent, mira)
    assert health()[0] == Health.UNHEALTHY


@pytest.mark.parametrize(
    ("end", "avoided"),
    [
        pytest.param({"exit_code": 3}, ("w1",), id="where it failed"),
        pytest.param(
            {"exit_code": None, "signal": 9, "ended_by": {"code": "lease_over", "detail": ""}}, ("w1",),
            id="where it was lost",
        ),
        pytest.param(None, ("w1",), id="where it was declined"),
    ],
)  # fmt: skip
def test_a_retry_avoids_the_worker(
    agent: Caller, mira: User, end: dict[str, Any] | None, avoided: tuple[str, ...]
) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 2, "on": ["failed", "lost"]})
    if end is None:
        claim(agent, placed)
        agent.ok(placed.path("decline"), {**placed.guard, "code": "device_busy", "detail": "held by another"})
    else:
        run(agent, placed)
        finish(agent, placed, **end)
    assert states(placed)[2] == "queued"
    (entry,) = [queued.entry for queued in take_queue()]
    assert entry is not None
    assert entry.failed_on == avoided
