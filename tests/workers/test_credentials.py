"""Credentials: replaced while the agent goes on, ended with their workers, and what shows that one was stolen."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.models import Task
from tests.api.callers import Caller, place
from tests.api.conftest import agent, enrolment, mira, own_data_folder
from tests.api.test_races import at_once
from workers.models import Credential, EnrolmentToken, Event, Worker
from workers.services.credentials import conflicts, rotation_due

__all__ = ["agent", "enrolment", "mira", "own_data_folder"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(db: None) -> Callable[[str], Any]:
    """What an operator's call answers."""
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return lambda path, method="post", **body: getattr(client, method)(
        f"/api/v1/{path}", *([json.dumps(body)] if method == "post" else []), content_type="application/json"
    )


def rotated(agent: Caller) -> Caller:
    """The same agent with a successor that it has not used yet."""
    secret = agent.ok("credential/rotate", {"epoch": agent.epochs["w1"]})["credential"]
    return Caller(secret, epochs=dict(agent.epochs))


def works(agent: Caller) -> bool:
    return agent.get("assignments").status_code != 401


class TestRotation:
    def test_the_old_one_works_until_the_new_one_is_used(self, agent: Caller) -> None:
        new = rotated(agent)
        assert works(agent)
        assert works(new)
        assert not works(agent)
        assert works(new)
        row = Credential.objects.get()
        assert new.secret.startswith(row.prefix)
        assert row.rotated_at is not None
        assert (row.next_hash, row.next_prefix) == (None, "")

    def test_a_lost_answer_loses_nothing(self, agent: Caller) -> None:
        lost, new = rotated(agent), rotated(agent)
        assert not works(lost), "the later one is the successor"
        assert works(agent)
        assert works(new)

    def test_the_session_goes_on(self, agent: Caller) -> None:
        new = rotated(agent)
        assert new.ok("heartbeat", new.beat())["drain"] is False
        assert new.register("w1")["epoch"] == agent.epochs["w1"]

    def test_another_session_may_not(self, agent: Caller) -> None:
        answer = agent.post("credential/rotate", {"epoch": agent.epochs["w1"] + 1})
        assert (answer.status_code, answer.json()["code"]) == (409, "stale_epoch")

    def test_a_fleet_keeps_its_credential(self, enrolment: Callable[..., Caller]) -> None:
        fleet = enrolment(2, simulated=True).enrol("a", "b", simulated=True)
        answer = fleet.post("credential/rotate", {"epoch": 0})
        assert (answer.status_code, answer.json()["code"]) == (409, "fleet_credential")

    def test_secrets_are_in_no_row_and_no_event(self, agent: Caller) -> None:
        new = rotated(agent)
        works(new)
        rows = [*Credential.objects.values(), *Event.objects.values()]
        assert not [row for row in rows if new.secret in str(row) or agent.secret in str(row)]

    def test_an_operator_asks_for_it_and_the_agent_is_told_until_it_is_done(
        self, agent: Caller, operator: Callable[..., Any]
    ) -> None:
        assert agent.ok("heartbeat", agent.beat(seq=1))["rotate"] is False
        assert operator("workers/w1/rotate").json()["rotation_asked_at"]
        assert agent.ok("heartbeat", agent.beat(seq=2))["rotate"] is True
        new = rotated(agent)
        assert agent.ok("heartbeat", agent.beat(seq=3))["rotate"] is True
        assert new.ok("heartbeat", new.beat(seq=4))["rotate"] is False

    def test_an_old_one_is_asked_for_too(self, agent: Caller) -> None:
        row, now = Credential.objects.get(), timezone.now()
        assert not rotation_due(row, now=now + timedelta(days=89))
        assert rotation_due(row, now=now + timedelta(days=91))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", range(4))
def test_first_uses_at_the_same_moment_are_all_let_in(agent: Caller, turn: int) -> None:
    new = rotated(agent)
    answers = at_once(*[lambda: works(Caller(new.secret))] * 6)
    assert answers == [True] * 6
    assert not works(agent)


class TestRevocation:
    def test_the_agent_is_told_so_at_its_next_call_and_its_successor_too(
        self, agent: Caller, operator: Callable[..., Any]
    ) -> None:
        new = rotated(agent)
        assert operator("workers/w1/revoke").json() == {"name": "w1", "liveness": "revoked"}
        for each in (agent, new):
            answer = each.post("heartbeat", agent.beat())
            assert (answer.status_code, answer.json()["code"]) == (401, "credential_revoked")
        event = Event.objects.get(subject="w1", verb="liveness", after="revoked")
        assert (event.actor, event.cause) == ("user:ada", "credential revoked")

    def test_the_name_is_free_again(
        self, agent: Caller, enrolment: Callable[..., Caller], operator: Callable[..., Any]
    ) -> None:
        operator("workers/w1/revoke")
        enrolment().enrol("w1").register("w1")
        assert sorted(Worker.objects.values_list("name", "liveness")) == [("w1", "online"), ("w1", "revoked")]

    def test_of_a_simulated_fleet_only_this_one_goes(
        self, enrolment: Callable[..., Caller], operator: Callable[..., Any]
    ) -> None:
        fleet = enrolment(2, simulated=True).enrol("a", "b", simulated=True)
        fleet.register_fleet(["a", "b"])
        operator("workers/a/revoke")
        assert works(fleet)
        operator("workers/b/revoke")
        assert not works(fleet)

    def test_one_that_does_not_exist_is_not_found(self, operator: Callable[..., Any]) -> None:
        assert operator("workers/nobody/revoke").status_code == 404


class TestRetiring:
    def test_a_worker_without_tasks_leaves_for_good(self, agent: Caller, operator: Callable[..., Any]) -> None:
        assert operator("workers/w1/retire").json()["intent"] == "retired"
        assert not works(agent)
        assert operator("workers/w1", "get").status_code == 404

    def test_one_that_still_runs_something_stays(self, agent: Caller, mira: User, operator: Callable[..., Any]) -> None:
        placed = place(agent, "w1", owner=mira)
        answer = operator("workers/w1/retire")
        assert (answer.status_code, answer.json()["code"]) == (409, "still_in_use")
        assert placed.job.job_id in answer.json()["detail"]
        assert works(agent)
        Task.objects.update(state="succeeded", finished_at=timezone.now(), released_at=timezone.now())
        assert operator("workers/w1/retire").status_code == 200


class TestAStolenCredential:
    """F29: a second machine speaks as a worker whose first is alive."""

    def test_is_refused_noted_and_the_first_goes_on(self, agent: Caller) -> None:
        thief = Caller(agent.secret)
        answer = thief.post("register", Caller.registration("w1", boot="another"))
        assert (answer.status_code, answer.json()["code"]) == (409, "machine_conflict")
        assert agent.ok("heartbeat", agent.beat())
        found = conflicts(Worker.objects.get(), now=timezone.now())
        assert found is not None
        assert found[0] == 1

    def test_an_old_attempt_is_no_longer_told(self, agent: Caller) -> None:
        Caller(agent.secret).post("register", Caller.registration("w1", boot="another"))
        assert conflicts(Worker.objects.get(), now=timezone.now() + timedelta(days=8)) is None

    def test_a_worker_that_nobody_imitates_has_none(self, agent: Caller) -> None:
        assert conflicts(Worker.objects.get(), now=timezone.now()) is None


@pytest.mark.parametrize("path", ["workers/w1/revoke", "workers/w1/rotate", "workers/w1/retire", "worker-tokens"])
def test_only_operators_may(agent: Caller, mira: User, path: str) -> None:
    client = Client()
    client.force_login(mira)
    answer = client.post(f"/api/v1/{path}", "{}", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "operators_only")
    assert works(agent)


class TestTokens:
    def test_the_list_has_what_still_lets_somebody_in(
        self, enrolment: Callable[..., Caller], operator: Callable[..., Any]
    ) -> None:
        enrolment().enrol("w1")
        made = operator("worker-tokens", note="gpu-07").json()
        (listed,) = operator("worker-tokens", "get").json()["items"]
        assert (listed["note"], listed["uses_left"], listed["created_by"]) == ("gpu-07", 1, "ada")
        assert made["token"] not in str(listed)
        assert made["token"].startswith(listed["prefix"])

    def test_a_revoked_one_lets_nobody_in(self, operator: Callable[..., Any]) -> None:
        token = Caller(operator("worker-tokens").json()["token"])
        row = EnrolmentToken.objects.get()
        for _ in range(2):
            assert operator(f"worker-tokens/{row.pk}/revoke").status_code == 200
        assert token.post("enroll", Caller.enrolment("w1")).status_code == 401
        assert operator("worker-tokens", "get").json()["items"] == []
        assert list(Event.objects.filter(subject_kind="token").order_by("pk").values_list("verb", flat=True)) == [
            "created", "revoked",
        ]  # fmt: skip

    def test_one_that_never_was_is_not_found(self, operator: Callable[..., Any]) -> None:
        assert operator("worker-tokens/99/revoke").status_code == 404

    @pytest.mark.parametrize("guess", ["gle_", "gle_" + "A" * 43, "glw_" + "A" * 43, "glu_" + "A" * 43, "x"])
    def test_a_guess_opens_nothing(self, guess: str, db: None) -> None:
        answer = Caller(guess).post("enroll", Caller.enrolment("w1"))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
