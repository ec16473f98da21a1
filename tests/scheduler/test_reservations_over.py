"""Reservations end with what they were for: by themselves, once, whatever is lost or comes twice."""

from __future__ import annotations

import pytest

from scheduler.models import Event, Reservation
from scheduler.services import review as reviewing
from scheduler.services.jobs import cancel_job
from scheduler.services.renumbered import follow
from scheduler.services.reservations_over import end_the_outlived
from tests.factories import NOW, a_job, a_reservation, a_worker, changed, later

pytestmark = pytest.mark.django_db


def told(reservation):
    """When and why it ended."""
    reservation.refresh_from_db()
    return reservation.cancelled_at, reservation.ended_cause


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("cancelled", "{} is over (cancelled)"),
        ("succeeded", "{} is over (succeeded)"),
        ("timed_out", "{} is over (timed out)"),
        ("queued", ""),
        ("paused", ""),
        ("running", ""),
        ("cancelling", ""),
    ],
)
def test_with_its_job(state, cause):
    job = a_job()
    kept = a_reservation(a_worker("a"), f"job:{job.job_id}")
    over = bool(cause)
    changed(job, state=state, finished_at=NOW if over else None, cancel_requested_at=NOW)
    end_the_outlived(later(seconds=5))
    assert told(kept) == ((later(seconds=5), cause.format(job.job_id)) if over else (None, ""))


def test_with_a_job_that_is_deleted():
    job = a_job()
    kept = a_reservation(a_worker("a"), f"job:{job.job_id}", starts_at=later(hours=3))
    name = job.job_id
    job.delete()
    end_the_outlived(NOW)
    assert told(kept) == (NOW, f"{name} is gone")


def test_with_its_worker():
    kept = a_reservation(a_worker("a", intent="retired"), "user:noa")
    end_the_outlived(NOW)
    assert told(kept) == (NOW, "a is retired")


def test_people_teams_and_what_is_over_stay_as_they_are():
    a_reservation(a_worker("a"), "user:noa")
    a_reservation(a_worker("b"), "team:vision")
    a_reservation(a_worker("c"), "job:j-9", ends_at=later(hours=1))
    end_the_outlived(later(hours=2))
    assert not Reservation.objects.filter(cancelled_at__isnull=False).exists()


def test_once_however_often_it_is_looked_and_the_worker_is_news_for_passes():
    job, worker = a_job(), a_worker("a")
    kept = a_reservation(worker, f"job:{job.job_id}")
    cancel_job(job=job, actor="user:mira", now=NOW)
    version = worker.version
    for seconds in range(3):
        end_the_outlived(later(seconds=seconds))
    assert told(kept)[0] == NOW
    worker.refresh_from_db()
    assert worker.version == version + 1
    event = Event.objects.get(subject_kind="reservation", verb="ended")
    assert (event.actor, event.cause) == ("scheduler", f"{job.job_id} is over (cancelled)")
    assert event.before.startswith("a for job:")


def test_is_part_of_the_regular_look():
    assert end_the_outlived in reviewing.ALWAYS


class TestRenumbered:
    """Devices get other indices at a boot: reservations stay with them."""

    def test_two_that_change_places(self):
        worker = a_worker("a", gpus="3xA100")
        first = a_reservation(worker, "user:noa", devices=(0,))
        second = a_reservation(worker, "user:lin", devices=(1, 2))
        follow({worker.pk: {0: 1, 1: 0}})
        assert [self.devices(first), self.devices(second)] == [[1], [0, 2]]
        events = Event.objects.filter(subject_kind="reservation", verb="changed", cause="devices have other indices")
        told_of = {event.subject: (event.detail["before"]["devices"], event.detail["devices"]) for event in events}
        assert told_of == {str(first.pk): ([0], [1]), str(second.pk): ([1, 2], [0, 2])}

    def test_what_is_gone_is_lost_and_a_reservation_of_nothing_ends(self):
        worker = a_worker("a", gpus="3xA100")
        first = a_reservation(worker, "user:noa", devices=(0,))
        gone = a_reservation(worker, "user:lin", devices=(1,))
        stays = a_reservation(worker, "user:ada", devices=(2,))
        follow({worker.pk: {0: 1}})
        assert [self.devices(first), self.devices(stays)] == [[1], [2]]
        assert told(gone)[1] == "its devices are gone"
        assert {event.subject: event.verb for event in Event.objects.filter(subject_kind="reservation")} == {
            str(first.pk): "changed", str(gone.pk): "ended",
        }  # fmt: skip

    def test_what_was_over_by_then_is_in_nobodys_way(self):
        worker = a_worker("a", gpus="3xA100")
        first = a_reservation(worker, "user:noa", devices=(0,), starts_at=later(days=-9000))
        over = {"starts_at": later(days=-9000), "ends_at": later(days=-8999)}
        past = a_reservation(worker, "user:lin", devices=(1,), **over)
        follow({worker.pk: {0: 1}})
        assert self.devices(first) == [1]
        assert told(past) == (over["ends_at"], "")

    @staticmethod
    def devices(reservation):
        """Those it keeps now."""
        reservation.refresh_from_db()
        assert reservation.cancelled_at is None
        return reservation.devices
