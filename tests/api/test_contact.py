"""Hosts out of contact: leases for what may be rerun, patience for what may not, and a person's word."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler.models import Attempt, Event, Job
from tests.api.callers import Caller, Placed, assigned, place
from tests.api.gangs import RERUN, Time, beat, claim, finish, held, release, run, start, states
from workers.models import Worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def first_of_all(clock: Time) -> None:
    """Everything here happens by the test's clock."""


def liveness(name: str = "w1") -> str:
    return Worker.objects.get(name=name).liveness


@pytest.mark.parametrize(
    ("retries", "lease"),
    [
        pytest.param(None, None, id="no retries: none"),
        pytest.param({"max": 0}, None, id="no retry at all: none"),
        pytest.param({"max": 2, "on": ["failed"]}, None, id="not after a loss: none"),
        pytest.param({"max": 2, "on": ["lost"]}, 1800, id="after a loss: the server's"),
        pytest.param({"max": 2}, 1800, id="unstated means lost: the server's"),
        pytest.param({"max": 1, "lease_s": 600}, 600, id="its own"),
    ],
)
def test_only_what_would_be_rerun_has_a_lease(
    agent: Caller, mira: User, retries: dict[str, object] | None, lease: int | None
) -> None:
    placed = place(agent, "w1", owner=mira, **({"retries": retries} if retries else {}))
    assert claim(agent, placed)["lease_seconds"] == lease
    told = beat(agent, placed)["leases"]
    assert told == ([{"task": placed.task, "seconds": lease}] if lease else [])


def test_the_last_attempt_has_no_lease(agent: Caller, mira: User, clock: Time) -> None:
    first = place(agent, "w1", owner=mira, retries={"max": 1})
    run(agent, first)
    finish(agent, first, exit_code=None, signal=9, ended_by={"code": "lease_over", "detail": "its lease is over"})
    release(agent, first)
    assert states(first) == ("failed", "failed", "queued")
    second = assigned(agent, Job.objects.get(), "w1", now=clock.now)
    assert claim(agent, second)["lease_seconds"] is None


def test_a_lease_is_extended_and_never_shortened(agent: Caller, mira: User, clock: Time) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 600})
    run(agent, placed)
    begun = Attempt.objects.get().leased_until
    clock.passes(4)
    assert beat(agent, placed, seq=1)["leases"] == [{"task": placed.task, "seconds": 596}]
    assert Attempt.objects.get().leased_until == begun, "too little has passed to write it anew"
    for seq in range(2, 22):
        clock.passes(4)
        told = beat(agent, placed, seq=seq)["leases"][0]["seconds"]
        until = Attempt.objects.get().leased_until
        assert begun is not None
        assert until is not None
        assert until >= begun
        assert clock.now + timedelta(seconds=told) <= until
        begun = until
    assert begun > clock.now + timedelta(seconds=500)


@pytest.mark.parametrize("late", ["the same seq again", "without the task", "another run of the agent"])
def test_a_lease_is_not_extended_by_a_beat(agent: Caller, mira: User, clock: Time, late: str) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 600})
    run(agent, placed)
    beat(agent, placed, seq=5)
    clock.passes(5)
    clock.sleeps(120)
    before = Attempt.objects.get().leased_until
    if late == "the same seq again":
        told = beat(agent, placed, seq=5)
    elif late == "without the task":
        told = beat(agent, seq=6)
    else:
        Worker.objects.update(instance="the present one")
        told = beat(agent, placed, seq=6, instance="an earlier one")
    assert told["leases"] == []
    assert Attempt.objects.get().leased_until == before


def test_a_silent_host_is_suspect_and_its_task_unknown_until_it_is_heard_of_again(
    agent: Caller, placed: Placed, clock: Time
) -> None:
    run(agent, placed)
    clock.passes(10)
    assert (liveness(), *states(placed)) == ("suspect", "unknown", "running", "running")
    told = beat(agent, placed)
    assert (told["kill"], told["cancel"]) == ([], [])
    assert (liveness(), *states(placed)) == ("online", "running", "running", "running")
    assert Event.objects.filter(subject_kind="attempt").exclude(verb="created").count() == 1


def test_what_was_claimed_and_not_started_is_claimed_again(agent: Caller, placed: Placed, clock: Time) -> None:
    claim(agent, placed)
    clock.passes(10)
    assert states(placed)[0] == "unknown"
    beat(agent, placed)
    assert states(placed)[0] == "claimed"
    start(agent, placed)
    assert states(placed) == ("running", "running", "running")


def test_a_claimed_task_that_its_agent_never_speaks_of_is_taken_back(
    agent: Caller, placed: Placed, clock: Time
) -> None:
    claim(agent, placed)
    for seq in range(1, 16):
        clock.passes(5)
        beat(agent, seq=seq)
    assert states(placed) == ("revoked", "revoked", "queued")
    assert held() == 0


def test_without_retries_a_job_goes_on_for_as_long_as_its_host_is_away(
    agent: Caller, placed: Placed, clock: Time
) -> None:
    run(agent, placed)
    clock.passes(600, every=5)
    since = placed.row().state_since
    clock.passes(7200, every=120)
    assert (liveness(), *states(placed)) == ("lost", "unknown", "running", "running")
    assert held() == 1
    assert finish(agent, placed, exit_code=0).status_code == 200
    release(agent, placed)
    assert states(placed) == ("succeeded", "succeeded", "succeeded")
    assert since < clock.now


def test_a_lease_that_is_over_lets_the_job_run_elsewhere_after_the_margin(
    agent: Caller, mira: User, clock: Time
) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 180})
    run(agent, placed)
    until = Attempt.objects.get().leased_until
    assert until is not None
    while clock.now < until + timedelta(seconds=24):
        clock.passes(5)
        assert held() == 1
    assert states(placed) == ("unknown", "running", "running")
    clock.passes(10)
    assert states(placed) == ("lost", "lost", "queued")
    assert held() == 0
    assert "out of contact for longer than its lease of 180 seconds" in placed.row().failure_text


def test_split_brain_the_late_finish_is_refused_and_kept(agent: Caller, mira: User, clock: Time) -> None:
    first = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 180})
    run(agent, first)
    clock.passes(220)
    assert states(first) == ("lost", "lost", "queued")
    assert beat(agent, first)["kill"] == [first.task]
    answer = finish(agent, first, exit_code=0)
    assert (answer.status_code, answer.json()["code"]) == (409, "task_over")
    assert Event.objects.filter(verb="late_report").count() == 1
    assert release(agent, first).status_code == 200
    second = assigned(agent, Job.objects.get(), "w1", now=clock.now)
    run(agent, second)
    finish(agent, second, exit_code=4)
    assert Job.objects.get().exit_code == 4
    assert finish(agent, first, exit_code=0).status_code == 409
    assert Job.objects.get().exit_code == 4


def test_what_has_finished_is_freed_when_the_lease_is_over_though_nobody_said_so(
    agent: Caller, mira: User, clock: Time
) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 180})
    run(agent, placed)
    finish(agent, placed)
    clock.passes(200)
    assert held() == 1
    clock.passes(20)
    assert held() == 0
    assert states(placed) == ("succeeded", "succeeded", "succeeded")


def test_an_agent_that_is_there_without_its_task_keeps_it_only_as_long_as_the_lease(
    agent: Caller, mira: User, clock: Time
) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 180})
    run(agent, placed)
    for seq in range(1, 60):
        clock.passes(5)
        beat(agent, seq=seq)
    assert states(placed) == ("lost", "lost", "queued")
    assert held() == 0


class TestGivingUp:
    """`POST jobs/{id}/give-up`."""

    def ask(self, who: Client, placed: Placed, body: object = None) -> tuple[int, str]:
        path = f"/api/v1/jobs/{placed.job.job_id}/give-up"
        answer = who.post(path, {"confirm": True} if body is None else body, content_type="application/json")
        return answer.status_code, answer.json().get("code", "")

    def test_frees_the_devices_and_ends_the_job(self, agent: Caller, placed: Placed, clock: Time, mira: User) -> None:
        run(agent, placed)
        clock.passes(10)
        client = signed_in(mira)
        assert client.get(f"/api/v1/jobs/{placed.job.job_id}").json()["contact_lost_since"]
        assert self.ask(client, placed) == (200, "")
        assert states(placed) == ("lost", "lost", "failed")
        assert held() == 0
        assert Job.objects.get().failure_text == "given up by mira while its host was out of contact"
        assert beat(agent, placed)["kill"] == [placed.task]
        assert self.ask(client, placed) == (409, "not_out_of_contact")

    def test_wants_a_confirmation(self, agent: Caller, placed: Placed, clock: Time, mira: User) -> None:
        run(agent, placed)
        clock.passes(10)
        for body in ({}, {"confirm": False}):
            assert self.ask(signed_in(mira), placed, body) == (422, "invalid")
        assert states(placed)[0] == "unknown"

    def test_is_for_the_owner_and_operators(self, agent: Caller, placed: Placed, clock: Time) -> None:
        run(agent, placed)
        clock.passes(10)
        assert self.ask(signed_in(User.objects.create_user("eve")), placed) == (403, "not_yours")
        assert self.ask(signed_in(User.objects.create_user("ada", is_staff=True)), placed) == (200, "")

    def test_is_refused_while_the_host_is_there(self, agent: Caller, placed: Placed, mira: User) -> None:
        run(agent, placed)
        assert self.ask(signed_in(mira), placed) == (409, "not_out_of_contact")
        assert states(placed)[0] == "running"

    def test_is_followed_by_a_retry_where_the_job_has_one(self, agent: Caller, mira: User, clock: Time) -> None:
        placed = place(agent, "w1", owner=mira, retries=RERUN)
        run(agent, placed)
        clock.passes(10)
        assert self.ask(signed_in(mira), placed) == (200, "")
        assert states(placed) == ("lost", "lost", "queued")

    def test_ends_a_job_that_waits_for_its_cancellation(
        self, agent: Caller, placed: Placed, clock: Time, mira: User
    ) -> None:
        run(agent, placed)
        clock.passes(10)
        client = signed_in(mira)
        assert client.post(f"/api/v1/jobs/{placed.job.job_id}/cancel").json()["state"] == "cancelling"
        assert self.ask(client, placed) == (200, "")
        assert states(placed) == ("lost", "lost", "cancelled")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
