"""Drains with a deadline: what still runs then is stopped by its agent, and goes where its retries say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from scheduler.models import Event, Job, Task
from scheduler.queue import take_queue
from scheduler.services.drains import stop_at_deadlines
from scheduler.services.jobs import cancel_job
from tests.api.callers import Caller, Placed, place
from tests.api.conftest import enrolled
from tests.api.gangs import RERUN, Time, beat, claim, finish, held, place_gang, release, run, states
from workers.models import Worker
from workers.services import drain, undrain

pytestmark = pytest.mark.django_db

KILLED = {"exit_code": None, "signal": 15}


@pytest.fixture
def agent(clock: Time, enrolment: Any) -> Caller:
    return enrolled(enrolment(), "w1")


def drained(clock: Time, *, stop: bool = True, name: str = "w1") -> None:
    """The worker is to be empty in a minute."""
    until = clock.now + timedelta(seconds=60)
    drain(name=name, note="new fans", until=until, stop=stop, actor="user:ada", now=clock.now)


def comes(clock: Time, agent: Caller, *running: Placed) -> None:
    """The deadline comes; the agent calls until then."""
    for seq in range(1, 8):
        beat(agent, *running, seq=seq)
        clock.passes(10)


@pytest.mark.parametrize(
    ("fields", "how", "after", "code"),
    [
        pytest.param({"retries": RERUN}, KILLED, ("failed", "failed", "queued"), "", id="run again, as it asks for"),
        pytest.param({}, KILLED, ("failed", "failed", "failed"), "drained", id="over, as it asks for no rerun"),
        pytest.param({}, {"exit_code": 0}, ("succeeded", "succeeded", "succeeded"), "", id="faster than the stop"),
    ],
)
def test_what_runs_at_the_deadline_is_stopped(
    clock: Time, agent: Caller, mira: User, fields: Any, how: Any, after: Any, code: str
) -> None:
    placed = place(agent, "w1", owner=mira, **fields)
    run(agent, placed)
    drained(clock)
    assert beat(agent, placed, seq=1)["cancel"] == []
    comes(clock, agent, placed)
    assert beat(agent, placed, seq=9)["cancel"] == [placed.task]
    assert finish(agent, placed, **how).status_code == 200
    assert states(placed) == after
    assert release(agent, placed).status_code == 200
    assert held() == 0
    job = Job.objects.get()
    assert job.failure_code == code
    if code:
        assert job.failure_text == "w1 was drained, and its deadline came while this ran"
    clock.passes(10)
    assert Worker.objects.get().intent == "drained"


def test_it_is_no_failure_of_the_worker_and_the_job_comes_back_to_it(clock: Time, agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, retries=RERUN)
    run(agent, placed)
    drained(clock)
    comes(clock, agent, placed)
    finish(agent, placed, **KILLED)
    release(agent, placed)
    (queued,) = take_queue()
    assert queued.entry is not None
    assert queued.entry.failed_on == ()


def test_without_stop_it_is_waited_for(clock: Time, agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira)
    run(agent, placed)
    drained(clock, stop=False)
    comes(clock, agent, placed)
    assert beat(agent, placed, seq=9)["cancel"] == []
    assert states(placed) == ("running", "running", "running")
    assert Worker.objects.get().intent == "draining"


def test_what_was_never_let_go_is_taken_back_at_once(clock: Time, agent: Caller, mira: User) -> None:
    drained(clock)
    comes(clock, agent)
    placed = place(agent, "w1", owner=mira)
    clock.passes(5)
    assert states(placed) == ("revoked", "revoked", "queued")
    assert held() == 0


def test_looking_again_or_twice_at_once_changes_nothing(clock: Time, agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira)
    run(agent, placed)
    drained(clock)
    comes(clock, agent, placed)
    for _ in range(3):
        stop_at_deadlines(clock.now)
    assert Event.objects.filter(subject_kind="task", verb="drained").count() == 1


def test_an_undrained_worker_keeps_its_tasks(clock: Time, agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira)
    run(agent, placed)
    drained(clock)
    undrain(name="w1", actor="user:ada", now=clock.now)
    comes(clock, agent, placed)
    assert beat(agent, placed, seq=9)["cancel"] == []
    assert Task.objects.get().failure_code == ""


@pytest.mark.parametrize("lifted", [True, False], ids=["lifted meanwhile", "still in force"])
def test_a_deadline_that_comes_out_of_contact_counts_when_the_host_is_back(
    clock: Time, agent: Caller, mira: User, lifted: bool
) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 3600})
    run(agent, placed)
    drained(clock)
    clock.passes(120)
    assert Worker.objects.get().liveness != "online"
    if lifted:
        undrain(name="w1", actor="user:ada", now=clock.now)
    beat(agent, placed, seq=1)
    clock.passes(5)
    told = beat(agent, placed, seq=2)["cancel"]
    assert (told, Task.objects.get().failure_code) == (([], "") if lifted else ([placed.task], "drained"))


def test_a_job_that_is_cancelled_meanwhile_ends_as_cancelled(clock: Time, agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, retries=RERUN)
    run(agent, placed)
    drained(clock)
    comes(clock, agent, placed)
    cancel_job(job=placed.job, actor="user:mira", now=clock.now)
    finish(agent, placed, **KILLED)
    assert states(placed) == ("cancelled", "cancelled", "cancelled")


def test_the_whole_gang_leaves_with_one_of_its_workers(clock: Time, pair: list[Caller], mira: User) -> None:
    gang = place_gang(pair, mira, retries=RERUN)
    for agent, placed in zip(pair, gang, strict=True):
        claim(agent, placed, **({"master_port": 29500} if placed is gang[0] else {}))
    for agent, placed in zip(pair, gang, strict=True):
        run(agent, placed)
    drained(clock)
    for seq in range(1, 8):
        for number, (agent, placed) in enumerate(zip(pair, gang, strict=True), start=1):
            beat(agent, placed, worker=f"w{number}", seq=seq)
        clock.passes(10)
    assert beat(pair[0], gang[0], seq=9)["cancel"] == [gang[0].task]
    finish(pair[0], gang[0], **KILLED)
    assert beat(pair[1], gang[1], worker="w2", seq=9)["cancel"] == [gang[1].task]
    finish(pair[1], gang[1], **KILLED)
    assert states(gang[0]) == ("failed", "failed", "queued")
    assert states(gang[1])[0] == "cancelled"
