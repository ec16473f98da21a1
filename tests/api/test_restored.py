"""A database that was restored from a backup, and agents that come back to it with what it has never heard of."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from gpulayer_site.accounts.models import BrowserSession, SignInCode
from gpulayer_site.accounts.services import create_sign_in_code
from gpulayer_site.backup.older import make_safe_again
from scheduler.models import Attempt, Event, Job
from scheduler.services.drains import stop_at_deadlines
from scheduler.services.restored import JOBS_JUMP, JUMP
from tests.api.callers import Caller, Placed, assigned, place
from tests.api.gangs import beat, claim, held, run, states
from workers.models import EnrolmentToken, Worker
from workers.services import drain, move_worker, trust
from workers.services.restored import RESTORED
from workers.services.trust import note_failures

pytestmark = pytest.mark.django_db

STRANGE = (9_999, 9_999)
"""A task and its fence that this database has never heard of."""


def restored() -> None:
    make_safe_again(made_at="2026-11-30T12:00:00+00:00", now=timezone.now())


def health() -> tuple[str, str]:
    row = Worker.objects.get(name="w1")
    return row.health, row.health_note


def register(agent: Caller, *running: tuple[int, int]) -> dict[str, object]:
    return agent.register("w1", running=running)


def heartbeat(agent: Caller, *running: tuple[int, int], seq: int = 1, **more: object) -> dict[str, object]:
    return agent.ok("heartbeat", agent.beat("w1", seq=seq, running=running, **more))


def test_no_number_is_ever_used_again(agent: Caller, mira: User) -> None:
    before = place(agent, "w1", owner=mira)
    event = Event.objects.latest("pk").pk
    restored()
    after = place(agent, "w1", owner=mira, devices=(1,))
    assert after.fence > before.fence + JUMP - 1
    assert after.task > before.task + JUMP - 1
    assert after.job.pk > before.job.pk + JOBS_JUMP - 1
    assert Event.objects.latest("pk").pk > event + JUMP


def test_what_was_only_assigned_goes_back_to_the_queue_for_another_fence(agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira)
    restored()
    assert states(placed) == ("revoked", "revoked", "queued")
    assert held() == 0
    again = assigned(agent, Job.objects.get(), "w1", now=timezone.now())
    assert again.fence > placed.fence + JUMP - 1


def test_a_lease_is_as_long_as_its_host_may_believe(agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, retries={"max": 1, "lease_s": 600})
    run(agent, placed)
    Attempt.objects.update(leased_until=timezone.now() - timedelta(hours=1))
    restored()
    until = Attempt.objects.get().leased_until
    assert until is not None
    assert until > timezone.now() + timedelta(seconds=590)


@pytest.mark.parametrize(
    ("begun", "ended", "left"),
    [
        pytest.param(2, 1, 3600, id="over by the backup: an hour to extend it"),
        pytest.param(2, -3, 3 * 3600, id="not over: as long as it has"),
        pytest.param(30, 5.5, 0, id="never beyond what a hold may last"),
    ],
)
def test_a_hold_that_may_have_been_extended_since_does_not_end_at_once(
    agent: Caller, mira: User, begun: float, ended: float, left: float
) -> None:
    placed = place(agent, "w1", owner=mira, command=None, hold_s=3600)
    run(agent, placed)
    now = timezone.now()
    Job.objects.update(started_at=now - timedelta(hours=begun), hold_until=now - timedelta(hours=ended))
    restored()
    until = Job.objects.get().hold_until
    assert until is not None
    assert max(0, (until - timezone.now()).total_seconds()) == pytest.approx(left, abs=60)


def test_a_worker_has_to_register_and_to_say_what_runs_before_it_gets_work(
    agent: Caller, placed: Placed, mira: User
) -> None:
    run(agent, placed)
    restored()
    assert health() == ("unhealthy", RESTORED)
    assert agent.post("heartbeat", agent.beat("w1", seq=1)).json()["code"] == "stale_epoch"
    answer = register(agent, (placed.task, placed.fence), STRANGE)
    assert answer["adopt"] == [placed.task]
    assert answer["kill"] == [STRANGE[0]]
    assert health() == ("unhealthy", RESTORED), "a registration with what is unknown confirms nothing"
    told = heartbeat(agent, (placed.task, placed.fence), STRANGE, seq=1)
    assert told["kill"] == [STRANGE[0]]
    assert health() == ("unhealthy", RESTORED), "it still runs what is to be ended"
    heartbeat(agent, (placed.task, placed.fence), seq=2)
    assert health() == ("ok", "")
    assert states(placed) == ("running", "running", "running")


@pytest.mark.parametrize(
    ("more", "confirms"),
    [
        pytest.param({"seq": 0}, False, id="a late heartbeat"),
        pytest.param({"seq": 2, "leaving": True}, False, id="one that says goodbye"),
        pytest.param({"seq": 2}, True, id="a new one"),
    ],
)
def test_only_a_new_word_of_an_agent_that_stays_confirms(
    agent: Caller, more: dict[str, object], confirms: bool
) -> None:
    restored()
    register(agent)
    heartbeat(agent, **more)  # type: ignore[arg-type]
    assert (health() == ("ok", "")) is confirms


def test_a_drain_that_may_have_been_lifted_since_stops_nothing(agent: Caller, placed: Placed) -> None:
    run(agent, placed)
    now = timezone.now()
    drain(name="w1", note="", until=now + timedelta(seconds=1), stop=True, actor="user:ada", now=now)
    restored()
    register(agent, (placed.task, placed.fence))
    stop_at_deadlines(timezone.now() + timedelta(hours=1))
    assert heartbeat(agent, (placed.task, placed.fence))["cancel"] == []
    row = Worker.objects.get()
    assert (row.intent, row.drain_stops, row.drain_deadline) == ("draining", False, now + timedelta(seconds=1))


def test_an_operator_confirms_too(agent: Caller) -> None:
    restored()
    trust(name="w1", actor="user:ada", now=timezone.now())
    assert health() == ("ok", "")


def test_a_worker_on_which_jobs_failed_stays_so_whatever_its_agent_says(agent: Caller) -> None:
    note_failures(Worker.objects.get().pk, ["j-1", "j-2", "j-3"], actor="scheduler", now=timezone.now())
    before = health()
    restored()
    register(agent)
    heartbeat(agent)
    assert health() == before


def test_who_was_unwell_by_its_own_word_is_held_like_the_others(agent: Caller) -> None:
    move_worker(
        Worker.objects.get().pk, "unhealthy", machine="health", actor="", now=timezone.now(), cause="registered",
        note="stated by its document",
    )  # fmt: skip
    restored()
    register(agent, STRANGE)
    assert health() == ("unhealthy", RESTORED)


def test_a_fleet_is_held_and_confirmed_one_by_one(fleet, mira: User) -> None:  # type: ignore[no-untyped-def]
    caller, names = fleet(3)
    restored()
    caller.register_fleet(names)
    beats = [caller.beat(name, seq=1, running=[STRANGE] if name == names[0] else []) for name in names]
    caller.ok("fleet/heartbeat", {"heartbeats": beats})
    assert [row.health for row in Worker.objects.order_by("name")] == ["unhealthy", "ok", "ok"]


def test_doors_that_were_open_then_are_shut(agent: Caller, mira: User, enrolment) -> None:  # type: ignore[no-untyped-def]
    enrolment()
    create_sign_in_code(user=mira, now=timezone.now())
    BrowserSession.objects.create(session_key="a", session_data="", expire_date=timezone.now() + timedelta(days=1))
    restored()
    assert not BrowserSession.objects.exists()
    assert not SignInCode.objects.exists()
    assert not EnrolmentToken.objects.filter(expires_at__gt=timezone.now()).exists()
    assert Event.objects.filter(subject_kind="site", verb="restored", actor="server").count() == 1


def test_what_was_claimed_and_never_let_go_is_taken_back(agent: Caller, placed: Placed) -> None:
    claim(agent, placed)
    Attempt.objects.update(go_at=None)
    restored()
    assert states(placed) == ("revoked", "revoked", "queued")
    register(agent)
    beat(agent)
    assert health() == ("ok", "")
