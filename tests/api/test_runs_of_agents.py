"""Which run of an agent speaks: restarts, late calls of earlier runs, other boots, and revoked ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from scheduler.models import Event, Job, Task
from tests.api.callers import Caller, Placed, a_document, frames, place
from tests.api.conftest import enrolled
from tests.api.gangs import Time, beat, claim, finish, held, release, run, states
from workers.models import Credential, Device, Liveness, Worker

pytestmark = pytest.mark.django_db


def registration(*held_: Placed, instance: str = "one", seq: int | None = None, **more: Any) -> dict[str, Any]:
    told = [(each.task, each.fence) for each in held_]
    return {**Caller.registration("w1", running=told, **more), "instance": instance, "seq": seq}


def register(agent: Caller, *held_: Placed, **more: Any) -> dict[str, Any]:
    answer = agent.ok("register", registration(*held_, **more))
    agent.epochs["w1"] = answer["epoch"]
    return answer


def test_a_restarted_agent_goes_on_with_what_it_has(agent: Caller, placed: Placed) -> None:
    register(agent, instance="one", seq=1)
    run(agent, placed)
    answer = register(agent, placed, instance="two", seq=1)
    assert (answer["epoch"], answer["adopt"]) == (1, [placed.task])
    assert states(placed) == ("running", "running", "running")
    assert Worker.objects.get().instance == "two"
    assert list(Event.objects.filter(verb="instance").order_by("pk").values_list("after", flat=True)) == ["one", "two"]


def test_a_late_registration_of_an_earlier_run_takes_nothing_away(agent: Caller, placed: Placed) -> None:
    early = registration(instance="one", seq=1)
    agent.ok("register", early)
    register(agent, instance="two", seq=1)
    run(agent, placed)
    answer = agent.post("register", early)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale_instance")
    assert states(placed) == ("running", "running", "running")
    assert Worker.objects.get().instance == "two"


def test_a_doubled_registration_of_the_same_run_takes_nothing_away(agent: Caller, placed: Placed) -> None:
    early = registration(instance="one", seq=1)
    agent.ok("register", early)
    run(agent, placed)
    beat(agent, placed, seq=2)
    answer = agent.ok("register", early)
    assert (answer["epoch"], answer["adopt"], answer["kill"], answer["leases"]) == (1, [], [], [])
    assert states(placed) == ("running", "running", "running")
    assert Worker.objects.get().seq == 2


def test_a_beat_of_an_earlier_run_counts_for_nothing(agent: Caller) -> None:
    register(agent, instance="one", seq=1)
    register(agent, instance="two", seq=1)
    beat(agent, seq=500, instance="one", leaving=True)
    worker = Worker.objects.get()
    assert (worker.seq, worker.liveness) == (1, Liveness.ONLINE)
    beat(agent, seq=2, instance="two")
    assert Worker.objects.get().seq == 2


def test_a_claim_under_way_survives_a_registration_of_the_same_run(agent: Caller, placed: Placed) -> None:
    register(agent, instance="one", seq=1)
    claim(agent, placed)
    register(agent, instance="one", seq=2)
    assert states(placed)[0] == "claimed"
    register(agent, instance="two", seq=1)
    assert states(placed) == ("revoked", "revoked", "queued")
    assert held() == 0


def test_another_boot_has_lost_what_it_does_not_list(clock: Time, enrolment: Callable[..., Caller], mira: User) -> None:
    agent = enrolled(enrolment(), "w1")
    first, second = place(agent, "w1", owner=mira), place(agent, "w1", owner=mira, devices=(1,))
    run(agent, first)
    run(agent, second)
    clock.passes(30)
    answer = register(agent, second, boot="boot-2", instance="two", seq=1)
    assert (answer["epoch"], answer["adopt"]) == (2, [second.task])
    assert states(first) == ("lost", "lost", "failed")
    assert Job.objects.get(pk=first.job.pk).failure_code == "host_restarted"
    assert states(second) == ("running", "running", "running")
    assert held() == 1
    late = agent.post(first.path("release"), first.guard)
    assert (late.status_code, late.json()["code"]) == (409, "stale_epoch")


def test_who_the_host_is_is_kept(agent: Caller) -> None:
    host = {"hostname": "gpu-1", "user": "gpu", "uid": 1001, "run_as_submitter": False, "address": "10.0.0.7"}
    agent.ok("register", {**registration(seq=1), "host": host})
    assert Worker.objects.get().host == host
    register(agent, seq=2)
    assert Worker.objects.get().host == host


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param([1], id="fewer"),
        pytest.param([1, 0], id="renumbered"),
        pytest.param([], id="none"),
    ],
)
def test_no_hold_moves_when_devices_do(agent: Caller, placed: Placed, devices: list[int]) -> None:
    run(agent, placed)
    before = list(Task.objects.get().holds.values_list("device__uuid", "released_at"))
    document = a_document()
    document["devices"] = [
        {**document["devices"][old], "index": new} for new, old in enumerate(devices)
    ]  # fmt: skip
    register(agent, placed, document=document, seq=1)
    assert list(Task.objects.get().holds.values_list("device__uuid", "released_at")) == before
    assert states(placed) == ("running", "running", "running")
    assert Device.objects.filter(uuid="GPU-w1-0").count() == 1


class TestRevoked:
    """Between its revocation and its end a worker may say what became of its tasks, and nothing else."""

    def revoke(self) -> None:
        Credential.objects.update(revoked_at=timezone.now())
        Worker.objects.update(liveness=Liveness.REVOKED)

    def test_it_ends_its_task_and_frees_the_device_itself(self, agent: Caller, placed: Placed) -> None:
        run(agent, placed)
        self.revoke()
        for call in ("heartbeat", "register"):
            body = agent.beat() if call == "heartbeat" else Caller.registration("w1")
            answer = agent.post(call, body)
            assert (answer.status_code, answer.json()["code"]) == (401, "credential_revoked")
        assert agent.get("assignments").status_code == 401
        assert agent.post(placed.path("claim"), placed.guard).status_code == 401
        assert held() == 1
        assert agent.put_log(placed, frames("the end\n")).status_code == 200
        assert finish(agent, placed, exit_code=None, signal=15).status_code == 200
        assert held() == 1
        assert release(agent, placed).status_code == 200
        assert held() == 0
        assert release(agent, placed).status_code == 401, "nothing is left to be said"

    def test_its_devices_stay_held_until_its_time_is_over(
        self, clock: Time, enrolment: Callable[..., Caller], mira: User
    ) -> None:
        agent = enrolled(enrolment(), "w1")
        placed = place(agent, "w1", owner=mira)
        run(agent, placed)
        self.revoke()
        clock.passes(10)
        assert (states(placed)[0], held()) == ("unknown", 1)
        clock.passes(1800, every=60)
        assert (states(placed)[0], held()) == ("unknown", 1)
        clock.passes(100)
        assert (states(placed), held()) == (("lost", "lost", "failed"), 0)
        assert "was revoked" in Job.objects.get().failure_text
        assert finish(agent, placed).status_code == 401

    def test_what_it_had_not_started_goes_back_at_once(
        self, clock: Time, enrolment: Callable[..., Caller], mira: User
    ) -> None:
        agent = enrolled(enrolment(), "w1")
        placed = place(agent, "w1", owner=mira)
        self.revoke()
        clock.passes(5)
        assert (states(placed), held()) == (("revoked", "revoked", "queued"), 0)


@pytest.mark.parametrize("seed", range(6))
def test_calls_that_come_twice_late_and_in_any_order_come_to_the_same_end(agent: Caller, mira: User, seed: int) -> None:
    """Every call of a life may arrive again at any later moment; the end is that of the clean run."""
    rng = random.Random(seed)
    sent: list[Callable[[], Any]] = []

    def say(call: Callable[[], Any]) -> None:
        answer = call()
        assert answer.status_code in (200, 204), answer.content
        sent.append(call)
        for old in rng.choices(sent, k=rng.randint(0, 4)):
            assert old().status_code in (200, 204, 409)

    ran: list[Placed] = []
    seq = 0
    say(lambda: agent.post("register", registration(instance="one", seq=1)))
    for number in range(6):
        placed = place(agent, "w1", owner=mira, devices=(number % 2,))
        code = rng.choice([0, 0, 3])
        for step in ("claim", "beat", "started", "beat", "log", "finish", "beat", "release"):
            seq += 1
            body = {
                "claim": placed.guard, "started": {**placed.guard, "pid": 1, "workdir": ""}, "release": placed.guard,
                "finish": {**placed.guard, "exit_code": code, "duration_ms": 5, "log_size": 17},
                "beat": agent.beat(seq=seq + 1, running=[(placed.task, placed.fence)], instance="one"),
            }.get(step)  # fmt: skip
            if step == "log":
                say(lambda placed=placed: agent.put_log(placed, frames("one\n")))
            else:
                path = "heartbeat" if step == "beat" else placed.path(step)
                say(lambda path=path, body=body: agent.post(path, body))
        assert states(placed)[0] == ("succeeded" if code == 0 else "failed")
        ran.append(placed)
        Worker.objects.update(trusted_since=timezone.now() + timedelta(seconds=1))
    assert held() == 0
    for placed in ran:
        trail = Event.objects.filter(subject_kind="task", subject=str(placed.task), verb="state").order_by("pk")
        assert list(trail.values_list("after", flat=True))[:2] == ["claimed", "running"]
        assert trail.count() == 3
        assert placed.row().log_size == 17
