"""Many simulated workers in one call: the same answers, and no more queries than for a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.callers import Caller, a_document, place
from workers.models import Device, Intent, Label, Liveness, Worker

pytestmark = pytest.mark.django_db

Fleet = Callable[[int], tuple[Caller, list[str]]]


def queries(call: Callable[[], Any]) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert call().status_code == 200
    return len(captured)


def test_a_fleet_registers_with_one_credential(fleet: Fleet) -> None:
    caller, names = fleet(3)
    assert set(caller.epochs) == set(names)
    assert set(Worker.objects.values_list("liveness", "simulated")) == {(Liveness.ONLINE, True)}
    assert Device.objects.count() == 6


def test_one_that_is_refused_does_not_hold_up_the_others(fleet: Fleet) -> None:
    caller, names = fleet(2)
    bodies = [
        Caller.registration(names[0], {**a_document(names[0]), "gpus": 3}),
        Caller.registration("nobody"),
        Caller.registration(names[1], boot="boot-2"),
    ]
    answers = caller.ok("fleet/register", {"registrations": bodies})["answers"]
    assert [answer["epoch"] for answer in answers] == [None, None, 2]
    assert [answer["problem"] and answer["problem"]["code"] for answer in answers] == [
        "facts_invalid",
        "no_such_worker",
        None,
    ]


def test_a_simulated_worker_may_state_what_operators_decide_of_real_ones(fleet: Fleet) -> None:
    caller, (drain, away, kept) = fleet(3)
    documents = {
        drain: a_document(drain, state="draining"),
        away: a_document(away, state=["offline", "unhealthy"]),
        kept: a_document(kept, labels={"gpulayer.dev/reserved-for": "team:vision", "zone": "a"}),
    }
    bodies = [Caller.registration(name, document) for name, document in documents.items()]
    caller.ok("fleet/register", {"registrations": bodies})
    assert Worker.objects.get(name=drain).intent == Intent.DRAINING
    assert Worker.objects.get(name=away).liveness == Liveness.SUSPECT
    facts = Worker.objects.get(name=kept).facts
    assert facts is not None
    assert facts.document["labels"] == {"gpulayer.dev/reserved-for": "team:vision"}
    assert list(Label.objects.values_list("key", flat=True)) == ["zone"]


def test_a_simulated_worker_has_what_its_document_says_and_no_more(fleet: Fleet) -> None:
    caller, (name, _) = fleet(2)
    caller.ok("fleet/register", {"registrations": [Caller.registration(name, a_document(name, gpus=1))]})
    facts = Worker.objects.get(name=name).facts
    assert facts is not None
    assert len(facts.document["devices"]) == 1


def test_heartbeats_of_a_fleet_carry_what_each_is_to_do(fleet: Fleet, mira: User) -> None:
    caller, names = fleet(3)
    placed = place(caller, names[1], owner=mira)
    beats = [caller.beat(name) for name in names] + [{"worker": "nobody", "epoch": 1, "seq": 1, "running": []}]
    beats[0]["epoch"] = 99
    answer = caller.ok("fleet/heartbeat", {"heartbeats": beats})
    assert answer["stale"] == [names[0], "nobody"]
    assert [(one["task"], one["worker"]) for one in answer["assignments"]] == [(placed.task, names[1])]
    assert 10 <= answer["next_in"] <= 15
    everything = caller.get("assignments").json()
    assert [one["task"] for one in everything["assignments"]] == [placed.task]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda caller, names: caller.get("assignments"), id="assignments"),
        pytest.param(
            lambda caller, names: caller.post("fleet/heartbeat", {"heartbeats": [caller.beat(name) for name in names]}),
            id="heartbeats",
        ),
        pytest.param(
            lambda caller, names: caller.post(
                "fleet/register", {"registrations": [Caller.registration(name) for name in names]}
            ),
            id="registrations",
        ),
    ],
)
def test_200_workers_cost_no_more_queries_than_10(fleet: Fleet, call: Callable[..., Any]) -> None:
    caller, names = fleet(200)
    few = queries(lambda: call(caller, names[:10]))
    for name in names:
        caller.epochs[name] = 1
    Worker.objects.update(seq=0)
    many = queries(lambda: call(caller, names))
    assert many <= few + 4  # what writes many rows is cut into a few statements
    assert few <= 20


def test_the_name_of_a_simulated_worker_that_nobody_keeps_alive_may_be_taken_over(
    fleet: Fleet, enrolment: Callable[..., Caller]
) -> None:
    caller, names = fleet(2)
    taken = enrolment(2, simulated=True).post("enroll", Caller.enrolment(*names, simulated=True))
    assert taken.status_code == 409
    Worker.objects.update(liveness=Liveness.SUSPECT)
    again = enrolment(2, simulated=True).enrol(*names, simulated=True)
    again.register_fleet(names)
    assert caller.get("assignments").status_code == 401
    assert Worker.objects.count() == 2
