"""What the database makes impossible, whatever the code does."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from scheduler.models import Attempt, Decision, DeviceHold, FenceCounter, Job, PassLease, Reservation, Task
from scheduler.services.holding import draw_fences
from tests.factories import NOW, a_job, a_pass, a_reservation, a_worker, changed, later

pytestmark = pytest.mark.django_db


def refused(act):
    """The database refuses it, and the rest of the transaction stands."""
    with pytest.raises(IntegrityError), transaction.atomic():
        act()


@pytest.fixture
def placed_task():
    a_worker("a", gpus="2xA100")
    a_job()
    a_pass()
    return Task.objects.get()


def test_a_device_has_one_holder_until_it_is_released(placed_task):
    hold = DeviceHold.objects.get()
    attempt = Attempt.objects.create(job=a_job(), number=1, fence=99, created_at=NOW)
    other = Task.objects.create(attempt=attempt, worker=placed_task.worker, state_since=NOW)

    def take():
        DeviceHold.objects.create(task=other, device=hold.device, worker=hold.worker)

    refused(take)
    changed(hold, released_at=NOW)
    take()


def test_a_job_has_one_active_attempt(placed_task):
    attempt = placed_task.attempt
    refused(lambda: Attempt.objects.create(job=attempt.job, number=2, fence=99, created_at=NOW))
    changed(attempt, active=False, state="lost", ended_at=NOW)
    Attempt.objects.create(job=attempt.job, number=2, fence=99, created_at=NOW)


def test_numbers_and_fences_are_never_used_twice(placed_task):
    attempt = changed(placed_task.attempt, active=False, state="lost", ended_at=NOW)
    refused(lambda: Attempt.objects.create(job=attempt.job, number=1, fence=99, created_at=NOW))
    refused(lambda: Attempt.objects.create(job=attempt.job, number=2, fence=attempt.fence, created_at=NOW))


def test_fences_come_from_one_counter():
    assert list(draw_fences(2)) == [1, 2]
    assert list(draw_fences(1)) == [3]
    refused(lambda: FenceCounter.objects.create(pk=2))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("state", "sleeping"),
        ("state", "failed"),  # without an end
        ("finished_at", NOW),  # while queued
        ("state", "cancelling"),  # that nobody asked for
        ("name", ""),
    ],
)
def test_jobs(field, value):
    job = a_job()
    refused(lambda: changed(job, **{field: value}))


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "sleeping"},
        {"state": "succeeded"},
        {"state": "running"},
        {"released_at": NOW},
        {"memory_bytes": -1},
        {"log_size": -1},
    ],
    ids=str,
)
def test_tasks(placed_task, fields):
    refused(lambda: changed(placed_task, **fields))


@pytest.mark.parametrize(
    "fields",
    [{"active": False}, {"ended_at": NOW}, {"state": "failed"}, {"state": "sleeping"}, {"number": 0}],
    ids=str,
)
def test_attempts(placed_task, fields):
    refused(lambda: changed(placed_task.attempt, **fields))


def test_one_task_per_rank_and_worker(placed_task):
    def another(**fields):
        task = {"attempt": placed_task.attempt, "worker": placed_task.worker, "rank": 1, "state_since": NOW}
        return lambda: Task.objects.create(**{**task, **fields})

    refused(another())
    other = a_worker("b")
    refused(another(worker=other, rank=0))
    another(worker=other)()


def test_one_key_of_one_owner_names_one_job():
    job = a_job(key="k")
    other = a_job()
    refused(lambda: changed(other, idempotency_key="k"))
    assert Job.objects.exclude(pk=job.pk).get().idempotency_key is None, "no key is no key of anybody"


def test_a_job_has_one_first_decision_and_one_for_each_pass(placed_task):
    first = Decision.objects.get()
    refused(lambda: _copy(first))
    refused(lambda: _copy(first, kept="change"))
    refused(lambda: changed(first, outcome="maybe"))


@pytest.mark.parametrize(
    "fields",
    [{"ends_at": NOW}, {"ends_at": later(seconds=-1)}, {"holder": "mira"}, {"holder": "group:x"}],
    ids=str,
)
def test_reservations(fields):
    worker = a_worker("a")
    refused(lambda: a_reservation(worker, **{"holder": "user:mira", **fields}))
    assert not Reservation.objects.exists()


def test_the_lease_is_one_row_and_held_by_somebody_until_it_expires():
    PassLease.objects.create(name="pass")
    refused(lambda: PassLease.objects.create(name="pass"))
    refused(lambda: PassLease.objects.update(holder="x"))


def _copy(decision, **fields):
    names = [field.name for field in Decision._meta.fields if field.name != "id"]
    Decision.objects.create(**{**{name: getattr(decision, name) for name in names}, **fields})
