"""Keeping workers for somebody."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from scheduler.models import Event, Reservation
from scheduler.services.jobs import cancel_job
from scheduler.services.reservation_fixes import OverlapError
from scheduler.services.reservations import amend, end_reservation, reserve
from tests.factories import NOW, a_job, a_pass, a_worker, later, latest, states

pytestmark = pytest.mark.django_db


def reserved(worker, holder="user:noa", **fields):
    """A reservation by the front door."""
    said = {"starts_at": NOW, "ends_at": later(hours=1), "devices": (), "actor": "operator:ada", "now": NOW, **fields}
    return reserve(worker=worker, holder=holder, **said)


def problems(act):
    """What is wrong, by field."""
    with pytest.raises(ValidationError) as refused:
        act()
    return {field: " ".join(messages) for field, messages in refused.value.message_dict.items()}


@pytest.mark.parametrize(("said", "stored"), [("user:noa", "user:noa"), (" team:vision ", "team:vision")])
def test_a_holder_is_stored_in_full(said, stored):
    assert reserved(a_worker("a"), said).holder == stored


def test_a_bare_name_is_a_job_which_there_has_to_be():
    worker, job = a_worker("a"), a_job()
    made = reserved(worker, job.job_id)
    assert made.holder == f"job:{job.job_id}"
    assert problems(lambda: reserved(worker, "j-999999"))["holder"] == "There is no job j-999999."
    cancel_job(job=job, actor="user:mira", now=NOW)
    assert "is over (cancelled)" in problems(lambda: reserved(worker, job.job_id))["holder"]


@pytest.mark.parametrize("said", ["", "group:x", "user:", "team:a\nb"])
def test_a_holder_that_is_none(said):
    assert "expected job:" in problems(lambda: reserved(a_worker("a"), said))["holder"]


def test_every_mistake_is_told_at_once():
    found = problems(lambda: reserved(a_worker("a"), "x:y", ends_at=NOW, devices=(7,)))
    assert found.keys() == {"holder", "ends_at", "devices"}
    assert found["devices"] == "The worker has no device 7; it has 0."


def test_an_end_in_the_past_is_refused():
    found = problems(lambda: reserved(a_worker("a"), starts_at=later(hours=-2), ends_at=later(hours=-1)))
    assert "past" in found["ends_at"]


def test_a_start_in_the_past_is_now_and_what_was_over_by_then_is_not_in_its_way():
    worker = a_worker("a")
    reserved(worker, "team:vision", ends_at=later(hours=1))
    made = reserved(worker, starts_at=NOW, ends_at=later(hours=5), now=later(hours=2))
    assert made.starts_at == later(hours=2)
    assert problems(lambda: reserved(worker, starts_at=NOW, ends_at=later(hours=6), now=later(hours=3))), "made is not"


def test_a_device_that_is_missing_keeps_nobody_from_changing_the_end():
    worker = a_worker("a", gpus="3xA100")
    made = reserved(worker, devices=(0, 1))
    worker.devices.filter(index=1).update(present=False)
    made.ends_at = later(hours=2)
    assert amend(reservation=made, actor="operator:ada", now=NOW).devices == [0, 1]
    made.devices = [0, 1, 5]
    found = problems(lambda: amend(reservation=made, actor="operator:ada", now=NOW))
    assert found == {"devices": "The worker has no device 5; it has 0, 2."}


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        pytest.param({}, {}, "worker", id="the same worker at the same time"),
        pytest.param({}, {"starts_at": later(hours=1), "ends_at": later(hours=2)}, None, id="one after the other"),
        pytest.param({"ends_at": None}, {"starts_at": later(days=9), "ends_at": None}, "worker", id="without an end"),
        pytest.param({"devices": (0,)}, {"devices": (1,)}, None, id="other devices"),
        pytest.param({"devices": (0, 1)}, {"devices": (1, 2)}, "devices", id="a device in common"),
        pytest.param({}, {"devices": (1,)}, "worker", id="a device of a reserved worker"),
        pytest.param({"devices": (1,)}, {}, "worker", id="a worker with a reserved device"),
    ],
)  # fmt: skip
def test_what_is_reserved_is_not_reserved_again(first, second, clash):
    worker = a_worker("a", gpus="4xA100")
    reserved(worker, **first)
    if clash is None:
        reserved(worker, "team:vision", **second)
        return
    message = problems(lambda: reserved(worker, "team:vision", **second))[clash]
    assert "is reserved for user:noa" in message
    assert Reservation.objects.count() == 1


def test_an_ended_reservation_is_in_nobodys_way():
    worker = a_worker("a")
    assert end_reservation(reservation=reserved(worker), actor="operator:ada", now=NOW)
    again = reserved(worker, "team:vision")
    assert end_reservation(reservation=again, actor="operator:ada", now=later(hours=2)) is False, "it was over by then"


def test_a_change_is_checked_like_a_new_one_and_may_keep_its_own_place():
    worker = a_worker("a")
    first = reserved(worker)
    first.note = "longer"
    first.ends_at = later(hours=2)
    amend(reservation=first, actor="operator:ada", now=NOW)
    reserved(worker, "team:vision", starts_at=later(hours=2), ends_at=later(hours=3))
    first.ends_at = later(hours=4)
    assert "worker" in problems(lambda: amend(reservation=first, actor="operator:ada", now=NOW))


def test_every_change_raises_the_workers_version_and_is_in_the_trail():
    worker = a_worker("a")
    reservation = reserved(worker)
    amend(reservation=reservation, actor="operator:ada", now=NOW)
    end_reservation(reservation=reservation, actor="operator:ada", now=NOW)
    worker.refresh_from_db()
    assert worker.version >= 3
    verbs = Event.objects.filter(subject_kind="reservation").order_by("pk").values_list("verb", "actor")
    assert list(verbs) == [(verb, "operator:ada") for verb in ("created", "changed", "ended")]


def test_a_reserved_worker_says_for_whom_and_until_when():
    worker = a_worker("a")
    reserved(worker)
    job = a_job()
    a_pass()
    assert states(job) == ["queued"]
    row = latest(job)
    assert row.outcome == "waiting"
    assert "Reserved for noa until 2026-11-30 13:00 UTC." in row.summary["answer"]["more"]


def test_an_open_ended_reservation_means_never():
    reserved(a_worker("a"), ends_at=None)
    job = a_job()
    a_pass()
    assert latest(job).outcome == "unschedulable"


def test_what_is_in_the_way_is_found_among_any_number():
    worker = a_worker("w1", gpus="2xA100")
    Reservation.objects.bulk_create(
        Reservation(
            worker=worker, holder="user:noa", devices=[0], created_at=NOW,
            starts_at=later(hours=hour), ends_at=later(hours=hour + 1),
        )
        for hour in range(1_010)
    )  # fmt: skip
    with pytest.raises(OverlapError) as caught:
        reserve(
            worker=worker, holder="user:mira", devices=[0], starts_at=later(hours=1_005.5), ends_at=None,
            actor="user:ilse", now=NOW,
        )  # fmt: skip
    assert [other.starts_at for other in caught.value.others] == [later(hours=hour) for hour in range(1_005, 1_010)]
