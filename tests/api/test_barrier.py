"""A gang starts together or not at all, and ends together."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from scheduler.models import Event, Job, Task
from scheduler.services.jobs import cancel_job
from tests.api.callers import Caller, Placed, place
from tests.api.gangs import (
    RERUN,
    Time,
    assign_gang,
    beat,
    claim,
    finish,
    held,
    place_gang,
    release,
    run,
    start,
    states,
)

pytestmark = pytest.mark.django_db

BUSY = {"code": "device_busy", "detail": "another process holds the lock of GPU 0"}


def decline(agent: Caller, placed: Placed, **more: Any) -> Any:
    return agent.post(placed.path("decline"), {**placed.guard, **BUSY, **more})


def started_gang(pair: list[Caller], mira: User, **fields: Any) -> list[Placed]:
    gang = place_gang(pair, mira, **fields)
    claim(pair[0], gang[0], master_port=29_511)
    claim(pair[1], gang[1])
    for agent, member in zip(pair, gang, strict=True):
        start(agent, member)
    return gang


def test_nobody_starts_before_all_have_claimed(pair: list[Caller], mira: User) -> None:
    first, second = place_gang(pair, mira)
    waiting = claim(pair[0], first, master_port=29_511)
    assert (waiting["go"], waiting["gang"]["master_address"], waiting["gang"]["master_port"]) == (False, None, None)
    refused = pair[0].post(first.path("started"), {**first.guard, "pid": 1, "workdir": ""})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_ready")
    last = claim(pair[1], second)
    assert last["go"]
    assert last["gang"] == {
        "num_workers": 2, "procs_per_worker": 1, "node_rank": 1, "launcher": "torchrun", "comm_backend": None,
        "master_address": "10.0.0.1", "master_port": 29_511,
    }  # fmt: skip
    again = claim(pair[0], first, master_port=40_000)
    assert again["go"]
    assert (again["gang"]["node_rank"], again["gang"]["master_port"]) == (0, 29_511)


def test_rank_0_says_where_it_will_listen(pair: list[Caller], mira: User) -> None:
    first, _ = place_gang(pair, mira)
    answer = pair[0].post(first.path("claim"), first.guard)
    assert (answer.status_code, answer.json()["code"]) == (422, "master_port_missing")
    assert states(first) == ("assigned", "assigned", "assigned")


def test_a_gang_that_is_not_claimed_in_time_goes_back_whole(pair: list[Caller], mira: User, clock: Time) -> None:
    first, second = place_gang(pair, mira)
    claim(pair[0], first, master_port=29_511)
    for seq in range(1, 16):
        clock.passes(5)
        for number, agent in enumerate(pair, 1):
            beat(agent, *([first] if number == 1 else []), worker=f"w{number}", seq=seq)
    assert states(first) == states(second) == ("revoked", "revoked", "queued")
    assert held() == 0
    assert pair[0].post(first.path("claim"), first.guard).json()["code"] == "not_assigned"
    assert pair[1].post(second.path("claim"), second.guard).json()["code"] == "not_assigned"
    assert second.row().failure_code == "not_claimed"


def test_a_worker_that_falls_silent_before_the_start_revokes_all(pair: list[Caller], mira: User, clock: Time) -> None:
    first, second = place_gang(pair, mira)
    claim(pair[0], first, master_port=29_511)
    clock.passes(10)
    assert states(first) == states(second) == ("revoked", "revoked", "queued")
    assert held() == 0
    assert not second.row().failure_code


def test_a_declined_claim_revokes_all_and_uses_no_retry(pair: list[Caller], mira: User) -> None:
    first, second = place_gang(pair, mira, retries={"max": 1})
    claim(pair[0], first, master_port=29_511)
    for _ in range(2):
        assert decline(pair[1], second).json() == {"task": second.task, "state": "revoked"}
    assert states(first) == states(second) == ("revoked", "revoked", "queued")
    assert held() == 0
    again = assign_gang(pair, Job.objects.get())
    assert again[0].fence > first.fence
    assert claim(pair[0], again[0], master_port=29_512)["lease_seconds"] == 1800


def test_a_port_that_is_taken_at_the_start_stops_the_others(pair: list[Caller], mira: User) -> None:
    first, second = place_gang(pair, mira)
    claim(pair[0], first, master_port=29_511)
    run(pair[1], second)
    assert decline(pair[0], first, code="port_taken").status_code == 200
    assert states(second) == ("running", "running", "running")
    assert beat(pair[1], second, worker="w2")["cancel"] == [second.task]
    finish(pair[1], second, exit_code=None, signal=15)
    assert states(second) == ("cancelled", "revoked", "queued")
    release(pair[1], second)
    assert held() == 0


def test_a_task_that_runs_cannot_be_declined(pair: list[Caller], mira: User) -> None:
    first, _ = started_gang(pair, mira)
    answer = decline(pair[0], first)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_started")


def test_a_job_that_is_declined_five_times_in_a_row_is_paused_and_says_so(pair: list[Caller], mira: User) -> None:
    first = place(pair[0], "w1", owner=mira)
    job = first.job
    for number in range(5):
        claim(pair[0], first)
        decline(pair[0], first)
        job.refresh_from_db()
        assert job.state == ("paused" if number == 4 else "queued")
        if job.state == "queued":
            first = assign_one(pair[0], job)
    assert job.paused_code == "declined"
    assert "w1" in job.paused_text
    assert "another process holds the lock" in job.paused_text


def assign_one(agent: Caller, job: Job) -> Placed:
    return assign_gang([agent], job)[0]


def test_the_first_rank_that_fails_ends_the_gang_and_is_named(pair: list[Caller], mira: User) -> None:
    first, second = started_gang(pair, mira)
    finish(pair[1], second, exit_code=3)
    assert states(first) == ("running", "running", "running")
    assert beat(pair[0], first)["cancel"] == [first.task]
    assert pair[0].get("assignments?worker=w1").json()["cancel"] == [first.task]
    finish(pair[0], first, exit_code=None, signal=15)
    assert states(first) == ("cancelled", "failed", "failed")
    job = Job.objects.get()
    assert (job.failure_code, job.exit_code) == ("exit_code", 3)
    assert job.failure_text == "rank 1 on w2: it exited with 3"
    assert held() == 2
    for agent, member in zip(pair, (first, second), strict=True):
        release(agent, member)
    assert held() == 0


def test_a_rank_that_could_not_be_started_takes_the_unstarted_others_with_it(pair: list[Caller], mira: User) -> None:
    first, second = place_gang(pair, mira)
    claim(pair[0], first, master_port=29_511)
    error = {"code": "workdir_missing", "detail": "no /data on w1"}
    finish(pair[0], first, exit_code=None, start_error=error)
    assert states(first) == ("failed", "failed", "failed")
    assert states(second)[0] == "revoked"
    assert Job.objects.get().failure_text == "rank 0 on w1: no /data on w1"


def test_all_ranks_must_succeed(pair: list[Caller], mira: User) -> None:
    first, second = started_gang(pair, mira)
    finish(pair[0], first)
    assert states(first) == ("succeeded", "running", "running")
    finish(pair[1], second)
    assert states(second) == ("succeeded", "succeeded", "succeeded")


def test_a_gang_that_is_cancelled_before_its_start_is_over_at_once(pair: list[Caller], mira: User) -> None:
    first, second = place_gang(pair, mira)
    claim(pair[0], first, master_port=29_511)
    cancel_job(job=first.job, actor="user:mira", now=first.job.submitted_at)
    assert states(first) == states(second) == ("revoked", "cancelled", "cancelled")
    assert held() == 0
    assert pair[0].post(first.path("claim"), first.guard).json()["code"] == "not_assigned"


def test_a_gang_has_one_lease_which_all_of_its_hosts_keep(pair: list[Caller], mira: User, clock: Time) -> None:
    first, second = started_gang(pair, mira, retries=RERUN)
    seq = 1
    while second.row().state != "unknown":
        clock.passes(2)
        seq += 1
        beat(pair[0], first, seq=seq)
    assert beat(pair[0], first, seq=seq + 1)["leases"] == []
    until = first.row().attempt.leased_until
    clock.sleeps(1)
    beat(pair[0], first, seq=seq + 2)
    assert first.row().attempt.leased_until == until


def test_the_host_that_was_lost_is_named_when_the_lease_of_a_gang_is_over(
    pair: list[Caller], mira: User, clock: Time
) -> None:
    first, second = started_gang(pair, mira, retries={"max": 1, "lease_s": 180})
    for seq in range(1, 49):
        clock.passes(5)
        beat(pair[0], first, seq=seq)
    assert states(second)[0] == "lost"
    assert beat(pair[0], first, seq=200)["cancel"] == [first.task]
    finish(pair[0], first, exit_code=None, signal=9, ended_by={"code": "lease_over", "detail": "its lease is over"})
    assert states(first) == ("cancelled", "lost", "queued")
    assert not Event.objects.filter(verb="health").exists()
    assert Task.objects.filter(released_at=None).count() == 1
