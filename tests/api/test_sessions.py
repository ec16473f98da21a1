"""Enrolling, registering and heartbeats, one worker at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.api.callers import Caller, Placed, a_document
from workers.models import Credential, Device, EnrolmentToken, Event, Health, Label, Liveness, Worker, WorkerFacts

pytestmark = pytest.mark.django_db


def test_a_token_lets_one_worker_in_and_is_spent(enrolment: Callable[..., Caller]) -> None:
    token = enrolment()
    answer = token.post("enroll", Caller.enrolment("w1"))
    assert answer.status_code == 200
    assert answer.json()["credential"].startswith("glw_")
    again = token.post("enroll", Caller.enrolment("w2"))
    assert (again.status_code, again.json()["code"]) == (401, "token_used_up")
    assert not Worker.objects.filter(name="w2").exists()


def test_only_hashes_of_secrets_are_kept(agent: Caller) -> None:
    row = Credential.objects.get()
    assert agent.secret not in (row.hash, row.prefix)
    assert agent.secret.startswith(row.prefix)


def test_an_expired_token_lets_nobody_in(enrolment: Callable[..., Caller]) -> None:
    token = enrolment()
    EnrolmentToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert token.post("enroll", Caller.enrolment("w1")).json()["code"] == "token_expired"


@pytest.mark.parametrize(
    ("token", "workers", "status", "code"),
    [
        pytest.param({"uses": 2}, ("w1", "w2"), 422, "one_worker_each", id="two real ones with one credential"),
        pytest.param({"simulated": True}, ("w1",), 403, "token_scope", id="a real one with a token for simulated ones"),
        pytest.param({"origin": "cloud"}, ("w1",), 403, "token_scope", id="a local one with a token for the cloud"),
    ],
)
def test_enrolment_is_refused_for(
    enrolment: Callable[..., Caller], token: dict[str, Any], workers: tuple[str, ...], status: int, code: str
) -> None:
    answer = enrolment(**token).post("enroll", Caller.enrolment(*workers))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert EnrolmentToken.objects.get().uses_left > 0


def test_a_name_that_a_registered_worker_has_is_taken(agent: Caller, enrolment: Callable[..., Caller]) -> None:
    answer = enrolment().post("enroll", Caller.enrolment("w1"))
    assert (answer.status_code, answer.json()["code"]) == (409, "worker_exists")


def test_enrolling_again_after_a_lost_answer_replaces_the_first_credential(enrolment: Callable[..., Caller]) -> None:
    first = enrolment().enrol("w1")
    second = enrolment().enrol("w1")
    assert first.post("register", Caller.registration("w1")).json()["code"] == "credential_revoked"
    assert second.register("w1")["epoch"] == 1


def test_another_protocol_is_told_to_upgrade(enrolment: Callable[..., Caller]) -> None:
    answer = enrolment().post("enroll", {**Caller.enrolment("w1"), "protocol": [2]})
    assert (answer.status_code, answer.json()["code"]) == (426, "protocol_unsupported")


def test_registering_makes_the_worker_known_and_online(agent: Caller) -> None:
    worker = Worker.objects.get(name="w1")
    assert worker.liveness == Liveness.ONLINE
    assert worker.facts is not None
    assert worker.facts.document["id"] == "w1"
    assert list(Device.objects.values_list("index", "uuid")) == [(0, "GPU-w1-0"), (1, "GPU-w1-1")]


def test_the_same_boot_gets_the_same_epoch_and_no_new_facts(agent: Caller) -> None:
    version = Worker.objects.get().version
    assert agent.register("w1")["epoch"] == 1
    assert WorkerFacts.objects.count() == 1
    assert Worker.objects.get().version == version


def test_another_boot_gets_another_epoch_once_the_first_is_silent(agent: Caller) -> None:
    Worker.objects.update(last_seen_at=timezone.now() - timedelta(minutes=1))
    assert agent.register("w1", boot="boot-2")["epoch"] == 2


def test_a_second_machine_is_refused_while_the_first_one_lives(agent: Caller) -> None:
    answer = agent.post("register", Caller.registration("w1", boot="boot-2"))
    assert (answer.status_code, answer.json()["code"]) == (409, "machine_conflict")
    assert Event.objects.filter(subject="w1", verb="machine_conflict").count() == 1
    assert agent.post("heartbeat", agent.beat()).status_code == 200


def test_facts_that_are_wrong_are_refused_with_every_problem(agent: Caller) -> None:
    answer = agent.post("register", Caller.registration("w1", a_document(cpu_cores="many", gpu=3, os=7)))
    assert (answer.status_code, answer.json()["code"]) == (422, "facts_invalid")
    assert {item["path"] for item in answer.json()["problems"]} == {"cpu_cores", "gpu", "os"}


@pytest.mark.parametrize(
    ("facts", "path"),
    [
        pytest.param({"id": "w2"}, "id", id="speaks for another worker"),
        pytest.param({"labels": {"gpulayer.dev/reserved-for": "user:eve"}}, "labels", id="reserves itself"),
        pytest.param({"state": "draining"}, "state", id="states what operators decide"),
        pytest.param({"devices": [{"index": 0, "reserved_for": "user:eve"}]}, "devices[0]", id="reserves a device"),
        pytest.param(
            {"upcoming": [{"reserved_for": "user:eve", "starts_at": "2026-12-01T00:00:00Z"}]},
            "upcoming",
            id="will reserve itself",
        ),
    ],
)
def test_a_real_worker_is_refused_that(agent: Caller, facts: dict[str, Any], path: str) -> None:
    answer = agent.post("register", Caller.registration("w1", a_document(**facts)))
    assert (answer.status_code, answer.json()["code"]) == (422, "facts_invalid")
    assert [item["path"].startswith(path) for item in answer.json()["problems"]] == [True]


def test_labels_follow_the_agent_but_not_those_of_operators(agent: Caller) -> None:
    worker = Worker.objects.get()
    Label.objects.create(worker=worker, key="zone", value="b", source="operator")
    agent.register("w1", a_document(labels={"zone": "a", "rack": "7"}))
    agent.register("w1", a_document(labels={"rack": "8"}))
    assert set(Label.objects.values_list("key", "value", "source")) == {
        ("zone", "b", "operator"),
        ("rack", "8", "agent"),
    }


def test_a_device_that_is_not_found_stays_and_is_unhealthy(agent: Caller) -> None:
    agent.register("w1", a_document(gpus=1))
    worker = Worker.objects.get()
    assert worker.facts is not None
    assert [device["uuid"] for device in worker.facts.document["devices"]] == ["GPU-w1-0", "GPU-w1-1"]
    gone = Device.objects.get(index=1)
    assert (gone.present, gone.healthy) == (False, False)
    agent.register("w1", a_document(gpus=2))
    assert Device.objects.get(index=1).present is True


def test_devices_that_changed_places_keep_their_rows(agent: Caller) -> None:
    before = dict(Device.objects.values_list("uuid", "pk"))
    document = a_document()
    document["devices"][0]["index"], document["devices"][1]["index"] = 1, 0
    agent.register("w1", document)
    assert dict(Device.objects.values_list("uuid", "pk")) == before
    assert Device.objects.get(uuid="GPU-w1-0").index == 1


def test_devices_that_cannot_be_read_make_the_worker_unhealthy_until_they_can(agent: Caller) -> None:
    agent.register("w1", a_document(devices=None, memory=None))
    worker = Worker.objects.get()
    assert worker.health == Health.UNHEALTHY
    assert worker.facts is not None
    assert len(worker.facts.document["devices"]) == 2
    assert "memory" in worker.facts.document
    agent.register("w1")
    assert Worker.objects.get().health == Health.OK


def test_a_heartbeat_carries_what_is_to_be_done(agent: Caller, placed: Placed) -> None:
    answer = agent.ok("heartbeat", agent.beat())
    assert answer["assignments"] == [
        {"task": placed.task, "fence": placed.fence, "job_id": placed.job.job_id, "worker": "w1"}
    ]
    assert (answer["cancel"], answer["kill"], answer["drain"]) == ([], [], False)
    assert 1 <= answer["next_in"] <= 15


def test_an_old_heartbeat_changes_nothing(agent: Caller) -> None:
    agent.ok("heartbeat", agent.beat(seq=5))
    before = Worker.objects.get()
    agent.ok("heartbeat", agent.beat(seq=5, devices=[{"index": 0, "healthy": False}]))
    agent.ok("heartbeat", agent.beat(seq=4, leaving=True))
    after = Worker.objects.get()
    assert (after.last_seen_at, after.seq, after.version, after.liveness) == (
        before.last_seen_at,
        5,
        before.version,
        Liveness.ONLINE,
    )
    assert not Device.objects.filter(healthy=False).exists()


def test_another_epoch_has_to_register_again(agent: Caller) -> None:
    answer = agent.post("heartbeat", {**agent.beat(), "epoch": 7})
    assert (answer.status_code, answer.json()["code"]) == (409, "stale_epoch")


def test_a_worker_that_was_silent_is_online_again_with_its_next_heartbeat(agent: Caller) -> None:
    Worker.objects.update(liveness=Liveness.SUSPECT)
    agent.ok("heartbeat", agent.beat())
    assert Worker.objects.get().liveness == Liveness.ONLINE
    assert Event.objects.filter(subject="w1", verb="liveness", before="suspect", after="online").exists()


def test_a_worker_that_leaves_is_offline_at_once(agent: Caller, placed: Placed) -> None:
    assert agent.ok("heartbeat", agent.beat(leaving=True))["assignments"] == []
    assert Worker.objects.get().liveness == Liveness.SUSPECT
    agent.register("w1", boot="boot-2")
    assert Worker.objects.get().liveness == Liveness.ONLINE


@pytest.mark.parametrize(
    ("reading", "alters"),
    [
        pytest.param({"healthy": False, "health_note": "Xid 79"}, True, id="unhealthy: yes"),
        pytest.param({"foreign_memory": 5 * 10**9}, True, id="used from outside: yes"),
        pytest.param({"foreign_memory": 10**6}, False, id="hardly used from outside: no"),
        pytest.param({"utilisation": 93, "memory_used": 10**10}, False, id="busy: no"),
    ],
)
def test_a_reading_alters_decisions(agent: Caller, reading: dict[str, Any], alters: bool) -> None:
    before = Worker.objects.get().version
    agent.ok("heartbeat", agent.beat(devices=[{"index": 0, **reading}]))
    assert {name: getattr(Device.objects.get(index=0), name) for name in reading} == reading
    assert (Worker.objects.get().version > before) is alters


def test_a_revoked_credential_is_no_longer_let_in(agent: Caller) -> None:
    Credential.objects.update(revoked_at=timezone.now())
    answer = agent.post("heartbeat", agent.beat())
    assert (answer.status_code, answer.json()["code"]) == (401, "credential_revoked")


def test_an_unknown_secret_is_not_let_in(db: None) -> None:
    answer = Caller("glw_" + "x" * 43).get("assignments")
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")
    assert answer["WWW-Authenticate"] == "Bearer"


def test_another_worker_is_not_found(agent: Caller, enrolment: Callable[..., Caller]) -> None:
    other = enrolment().enrol("w2")
    other.register("w2")
    assert other.post("heartbeat", agent.beat()).status_code == 404
    assert other.get("assignments?worker=w1").status_code == 404
    assert other.post("register", Caller.registration("w1")).status_code == 404
