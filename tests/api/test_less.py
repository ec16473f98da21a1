"""Workers that come back with fewer, renumbered or other devices: nothing moves, and only an operator lets go."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler.models import DeviceHold, Reservation
from scheduler.snapshot import take_fleet
from tests.api.callers import Caller, a_document, place
from tests.factories import NOW, later
from workers.models import Event, Worker
from workers.services.offers import offer_of

pytestmark = pytest.mark.django_db


def worker() -> Worker:
    return Worker.objects.select_related("facts").get(name="w1")


def devices() -> list[tuple[int, str | None, bool, bool | None]]:
    """Index, uuid, whether it is there, whether it is well."""
    return list(worker().devices.order_by("pk").values_list("index", "uuid", "present", "healthy"))


def one_less() -> dict[str, Any]:
    document = a_document()
    del document["devices"][1]
    return document


def swapped() -> dict[str, Any]:
    document = a_document()
    document["devices"] = [{**each, "index": 1 - each["index"]} for each in document["devices"]]
    return document


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada", is_staff=True))
    return client


def test_a_missing_device_keeps_its_place_and_its_task(agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, devices=(1,))
    agent.register("w1", one_less(), running=[(placed.task, placed.fence)])
    assert devices() == [(0, "GPU-w1-0", True, None), (1, "GPU-w1-1", False, False)]
    assert offer_of(worker()) == ["device 1, NVIDIA A100 (GPU-w1-1): not found"]
    assert placed.row().devices == [1]
    assert DeviceHold.objects.get(released_at=None).device.uuid == "GPU-w1-1"
    (event,) = Event.objects.filter(verb="offered")
    assert event.detail == {"less": ["device 1, NVIDIA A100 (GPU-w1-1): not found"]}
    agent.register("w1", one_less())
    assert Event.objects.filter(verb="offered").count() == 1


def test_a_device_that_is_back_takes_the_offer_away(agent: Caller) -> None:
    agent.register("w1", one_less())
    agent.register("w1")
    assert (worker().offered_facts, worker().offered_at) == (None, None)
    assert [row[2] for row in devices()] == [True, True]


def test_holds_and_reservations_follow_a_device_that_gets_another_index(agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, devices=(1,))
    reservation = Reservation.objects.create(
        worker=worker(), devices=[0], holder="user:mira", starts_at=NOW, ends_at=later(days=99), created_at=NOW
    )
    agent.ok(placed.path("claim"), placed.guard)
    agent.register("w1", swapped(), running=[(placed.task, placed.fence)])
    assert devices() == [(1, "GPU-w1-0", True, None), (0, "GPU-w1-1", True, None)]
    assert DeviceHold.objects.get(released_at=None).device.uuid == "GPU-w1-1"
    assert placed.row().devices == [0]
    reservation.refresh_from_db()
    assert reservation.devices == [1]
    told = agent.ok(placed.path("claim"), placed.guard)
    assert told["devices"] == [{"index": 0, "uuid": "GPU-w1-1"}]
    (view,) = take_fleet(now=NOW).fleet().workers
    assert [task.devices for task in view.tasks] == [(0,)]


def test_other_devices_come_beside_those_that_are_missing(agent: Caller) -> None:
    document = a_document()
    document["devices"] = [{**each, "uuid": f"GPU-other-{each['index']}"} for each in document["devices"]]
    agent.register("w1", document)
    assert [row[:3] for row in devices()] == [
        (2, "GPU-w1-0", False), (3, "GPU-w1-1", False), (0, "GPU-other-0", True), (1, "GPU-other-1", True),
    ]  # fmt: skip
    assert len(offer_of(worker())) == 2


def test_another_host_of_the_same_name_is_refused(agent: Caller) -> None:
    agent.ok("heartbeat", agent.beat())
    answer = agent.post("register", agent.registration("w1", one_less(), boot="boot-of-another"))
    assert (answer.status_code, answer.json()["code"]) == (409, "machine_conflict")
    assert [row[2] for row in devices()] == [True, True]


def test_a_host_with_less_ram_takes_no_work_until_somebody_decides(agent: Caller, operator: Client) -> None:
    agent.register("w1", a_document(memory="32GiB"))
    assert (worker().health, worker().facts.document["memory"]) == ("unhealthy", "65536MiB")  # type: ignore[union-attr]
    assert "accept" in worker().health_note
    answer = operator.post("/api/v1/workers/w1/accept")
    assert answer.json() == {"name": "w1", "facts": 2, "less": ["RAM: 34.4 GB instead of 68.7 GB"]}
    assert (worker().health, worker().facts.document["memory"]) == ("ok", "32768MiB")  # type: ignore[union-attr]
    agent.register("w1", a_document(memory="32GiB"))
    assert (worker().health, worker().offered_facts) == ("ok", None)


def test_an_operator_accepts_and_nothing_that_runs_is_touched(agent: Caller, mira: User, operator: Client) -> None:
    placed = place(agent, "w1", owner=mira, devices=(1,))
    agent.register("w1", one_less(), running=[(placed.task, placed.fence)])
    version = worker().version
    answer = operator.post("/api/v1/workers/w1/accept")
    assert answer.status_code == 200, answer.content
    assert worker().version > version
    assert [each["uuid"] for each in worker().facts.document["devices"]] == ["GPU-w1-0"]  # type: ignore[union-attr]
    assert DeviceHold.objects.get(released_at=None).device.uuid == "GPU-w1-1"
    assert placed.row().state == "assigned"
    event = Event.objects.get(verb="accepted")
    assert (event.actor, event.before, event.after) == ("user:ada", "facts 1", "facts 2")
    agent.register("w1", one_less())
    assert worker().offered_facts is None


def test_accepting_is_for_operators_and_for_what_is_offered(agent: Caller, client: Client, mira: User) -> None:
    client.force_login(mira)
    assert client.post("/api/v1/workers/w1/accept").json()["code"] == "operators_only"
    mira.is_staff = True
    mira.save()
    client.force_login(mira)  # another role ends the sessions there were
    assert client.post("/api/v1/workers/w1/accept").json()["code"] == "nothing_offered"
    assert client.post("/api/v1/workers/nobody/accept").json()["code"] == "no_such_worker"


def test_devices_that_could_not_be_read_are_nothing_to_accept(agent: Caller) -> None:
    agent.register("w1", a_document(devices=None))
    assert (worker().health, worker().offered_facts) == ("unhealthy", None)
    assert [row[2:] for row in devices()] == [(False, False), (False, False)]


def test_why_something_is_unknown_is_kept_and_shown(agent: Caller, operator: Client) -> None:
    body = agent.registration("w1", a_document(driver=None)) | {"unknown": {"driver": "no permission"}}
    agent.ok("register", body)
    assert operator.get("/api/v1/workers/w1").json()["unknown"] == {"driver": "no permission"}
    assert "no permission" in operator.get("/workers/w1").content.decode()
    agent.register("w1")
    assert worker().unknown == {}


@pytest.mark.parametrize(
    "unknown", [{"driver": "x" * 501}, {"driver": 3}, {"dri\0ver": "x"}, {str(n): "x" for n in range(501)}],
    ids=["long", "no text", "NUL", "many"],
)  # fmt: skip
def test_reasons_have_bounds(agent: Caller, unknown: Any) -> None:
    assert agent.post("register", agent.registration("w1") | {"unknown": unknown}).status_code == 422


def test_a_simulated_worker_is_what_its_document_says(fleet: Any) -> None:
    caller, (name, _) = fleet(2)
    document = a_document(name, gpus=1)
    caller.ok("fleet/register", {"registrations": [caller.registration(name, document)]})
    assert Worker.objects.get(name=name).offered_facts is None
