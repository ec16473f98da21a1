"""Two reservations never keep the same device at the same time: the database refuses it, whoever writes."""

from __future__ import annotations

from contextlib import suppress
from threading import Barrier, Thread

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from scheduler.models import Reservation
from scheduler.services.reservations import amend, end_reservation, reserve
from tests.factories import NOW, a_reservation, a_worker, changed, later

WRITERS = 4


def refused(act):
    """The database refuses it, and the rest of the transaction stands."""
    with pytest.raises(IntegrityError), transaction.atomic():
        act()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "second", "stands"),
    [
        pytest.param({}, {}, False, id="the same worker, both without an end"),
        pytest.param({}, {"starts_at": later(days=90), "ends_at": later(days=91)}, False, id="within an endless one"),
        pytest.param({"ends_at": later(hours=1)}, {"starts_at": later(hours=1)}, True, id="one after the other"),
        pytest.param({"ends_at": later(hours=1)}, {"starts_at": later(seconds=3599.5)}, False, id="half a second"),
        pytest.param({"ends_at": later(seconds=0.5)}, {"starts_at": later(seconds=0.5)}, True, id="within a second"),
        pytest.param({"starts_at": later(hours=1)}, {"ends_at": later(hours=1)}, True, id="one before the other"),
        pytest.param({"devices": (0, 1)}, {"devices": (2, 10)}, True, id="other devices"),
        pytest.param({"devices": (1,)}, {"devices": (0, 1)}, False, id="a device in common"),
        pytest.param({"devices": (1,)}, {"devices": (11,)}, True, id="numbers that look alike"),
        pytest.param({"devices": (1,)}, {}, False, id="a worker with a reserved device"),
        pytest.param({}, {"devices": (1,)}, False, id="a device of a reserved worker"),
        pytest.param({"cancelled_at": NOW}, {}, True, id="what was ended is in nobody's way"),
    ],
)  # fmt: skip
def test_the_database_keeps_reservations_apart(first, second, stands):
    worker = a_worker("a")
    a_reservation(worker, "user:noa", **first)
    a_reservation(a_worker("b"), "user:noa")
    if stands:
        a_reservation(worker, "team:vision", **second)
    else:
        refused(lambda: a_reservation(worker, "team:vision", **second))


@pytest.mark.django_db
def test_a_change_is_refused_like_a_new_one():
    worker = a_worker("a")
    kept = a_reservation(worker, "user:noa", starts_at=later(hours=1))
    other = a_reservation(worker, "user:lin", ends_at=later(hours=1))
    refused(lambda: changed(other, ends_at=None))
    other.refresh_from_db()
    elsewhere = a_reservation(a_worker("b"), "user:lin")
    refused(lambda: changed(elsewhere, worker=worker))
    ended = a_reservation(worker, "user:lin", cancelled_at=NOW)
    refused(lambda: changed(ended, cancelled_at=None))
    changed(kept, note="its own place is not in its way", ends_at=later(hours=9))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("through", ["the service", "the table alone"])
def test_of_many_at_once_one_is_let_in(through):
    worker = a_worker("a", gpus="2xA100")
    together, made, sent_away = Barrier(WRITERS), [], []

    def write(number):
        holder, devices = f"user:u{number}", (number % 2, 1)
        together.wait()
        try:
            if through == "the service":
                made.append(
                    reserve(worker=worker, holder=holder, devices=devices, starts_at=NOW, actor="user:ada", now=NOW)
                )
            else:
                with transaction.atomic():
                    made.append(a_reservation(worker, holder, devices=devices))
        except (ValidationError, IntegrityError) as refusal:
            sent_away.append(refusal)
        finally:
            connection.close()

    writers = [Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert (len(made), len(sent_away), Reservation.objects.count()) == (1, WRITERS - 1, 1)


@pytest.mark.django_db(transaction=True)
def test_one_that_is_ended_while_it_is_changed_ends_and_neither_is_in_the_others_way():
    for round_ in range(20):
        kept = a_reservation(a_worker(f"w{round_}"), "user:noa", ends_at=later(hours=1))
        together, went_wrong = Barrier(2), []

        def change(row, together=together):
            row.ends_at = later(hours=2)
            together.wait()
            with suppress(ValidationError):  # it was over already
                amend(reservation=row, actor="user:ada", now=NOW)

        def end(row, together=together):
            together.wait()
            assert end_reservation(reservation=row, actor="user:lin", now=NOW)

        def run(act, row, went_wrong=went_wrong):
            try:
                act(row)
            except Exception as error:
                went_wrong.append(error)
            finally:
                connection.close()

        rows = [Reservation.objects.select_related("worker").get(pk=kept.pk) for _ in range(2)]
        threads = [Thread(target=run, args=pair) for pair in zip((change, end), rows, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept.refresh_from_db()
        assert (went_wrong, kept.cancelled_at) == ([], NOW)
