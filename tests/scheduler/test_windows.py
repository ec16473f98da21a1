"""Reservations that have yet to begin: what passes make of them, and when they decide anew."""

from __future__ import annotations

import pytest

from scheduler.core.codec import canonical_bytes, decision_to_document, worker_to_document
from scheduler.core.parsing import parse_worker
from scheduler.core.reasons import Code
from scheduler.core.schedule import schedule
from scheduler.memory import forget
from scheduler.models import SchedulingPass
from scheduler.records import delta_from, packed_delta, stated
from scheduler.services.digests import view_digest
from scheduler.services.recorded import recorded
from scheduler.services.reservations import end_reservation
from scheduler.snapshot import take_fleet
from tests.factories import NOW, a_job, a_pass, a_reservation, a_user, a_worker, changed, held, later, latest, placed

pytestmark = pytest.mark.django_db
HOUR = 3600


def codes(job):
    """What stands against the only worker in the latest decision."""
    (candidate,) = recorded(job).decision.candidates
    return [reason.code for reason in candidate.reasons]


@pytest.fixture
def reserved():
    """One worker with two devices, reserved for somebody else in four hours."""
    worker = a_worker("a", gpus="2xA100", seen=later(days=2))
    return a_reservation(worker, "user:noa", starts_at=later(hours=4), ends_at=later(hours=6))


@pytest.mark.parametrize(
    ("fields", "starts"),
    [
        pytest.param({"timeout_s": 4 * HOUR}, True, id="over when it begins"),
        pytest.param({"timeout_s": 4 * HOUR + 1}, False, id="a second longer"),
        pytest.param({}, False, id="no limit, and notice was given"),
    ],
)
def test_a_gap_is_for_jobs_that_are_over_in_time(reserved, fields, starts):
    job = a_job(**fields)
    a_pass()
    assert bool(placed(job)) is starts
    if not starts:
        (candidate,) = recorded(job).decision.candidates
        (reason,) = candidate.reasons
        assert (reason.code, reason.enough_at, reason.since) == (Code.RESERVED_FROM, 4 * HOUR, later(hours=4))


def test_a_job_without_a_limit_may_start_until_notice_is_given(settings):
    settings.GPULAYER_RESERVATION_NOTICE_SECONDS = 2 * HOUR
    worker = a_worker("a", gpus="2xA100", seen=later(days=2))
    a_reservation(worker, "user:noa", starts_at=later(hours=4))
    early = a_job()
    a_pass()
    late = a_job()
    a_pass(later(hours=2))
    assert placed(early)
    assert not placed(late)


def test_a_reservation_for_the_jobs_owner_keeps_it_out_of_nothing(reserved):
    job = a_job(owner=a_user("noa"))
    a_pass()
    assert placed(job)


def test_of_some_devices_only_those_are_left_to_others():
    worker = a_worker("a", gpus="2xA100", seen=later(days=2))
    a_reservation(worker, "user:noa", devices=(0,), starts_at=later(hours=4))
    one, two = a_job(gpus=1), a_job(gpus=1, name="two")
    a_pass()
    assert placed(one) == [("a", [1])]
    assert codes(two) == [Code.GPU_RESERVED_FROM, Code.GPU_IN_USE]


def test_a_pass_decides_anew_when_only_time_has_passed():
    worker = a_worker("a", gpus="1xA100", seen=later(days=2))
    other = a_worker("b", gpus="1xA100", seen=later(days=2))
    a_reservation(worker, "user:noa", starts_at=later(hours=1))
    changed(other, intent="draining")
    a_job(gpus=1, timeout_s=HOUR)
    a_pass()
    waits = a_job(gpus=1, timeout_s=HOUR - 100)
    a_pass(later(seconds=1))
    assert codes_on(waits, "a") == [Code.SLOTS, Code.GPU_IN_USE]
    assert a_pass(later(seconds=99)) is None
    assert a_pass(later(seconds=101)) is not None
    assert codes_on(waits, "a") == [Code.RESERVED_FROM, Code.SLOTS, Code.GPU_IN_USE]


def codes_on(job, name):
    """What stands against one worker in the latest decision."""
    return [reason.code for reason in recorded(job).decision.candidate(name).reasons]


def test_how_long_is_left_is_told_anew_every_half_minute(reserved):
    job = a_job()
    a_pass()
    assert a_pass(later(seconds=20)) is None
    assert a_pass(later(seconds=40)) is not None
    (candidate,) = recorded(job).decision.candidates
    assert candidate.reasons[0].enough_at == 4 * HOUR - 40
    assert latest(job).pass_row.number == 2


def test_it_begins_and_ends_without_anybody_ringing(reserved):
    job = a_job()
    a_pass()
    a_pass(later(hours=4))
    assert codes(job) == [Code.RESERVED_UNTIL]
    a_pass(later(hours=6))
    assert placed(job)


def test_one_that_is_taken_back_lets_the_job_start(reserved):
    job = a_job()
    a_pass()
    end_reservation(reservation=reserved, actor="test", now=later(seconds=1))
    a_pass(later(seconds=2))
    assert placed(job)


def test_nothing_that_runs_is_touched_when_it_begins(reserved):
    job = a_job(timeout_s=4 * HOUR)
    a_pass()
    a_pass(later(hours=4, minutes=1))
    assert placed(job) == [("a", [0])]
    assert held() == 1


def test_a_decision_is_made_again_from_its_pass_and_from_documents(reserved):
    job = a_job(timeout_s=9 * HOUR)
    a_pass(later(seconds=7))
    a_pass(later(seconds=50))
    forget()
    kept = recorded(job)
    assert kept.intact
    assert kept.fleet.workers[0].at == later(seconds=50)
    documents = [worker_to_document(view) for view in kept.fleet.workers]
    again = schedule(kept.entry, map(parse_worker, documents), job.job_id)
    assert canonical_bytes(decision_to_document(again)) == canonical_bytes(decision_to_document(kept.decision))


def test_a_job_may_wait_for_its_own_reservation(reserved):
    hers = a_job(owner=a_user("noa"), placement={"reserved_only": True})
    a_pass()
    assert codes(hers) == [Code.NOT_RESERVED]
    a_pass(later(hours=4))
    assert placed(hers)


def test_a_worker_without_any_is_written_down_as_it_was_before_there_were_any():
    a_worker("a")
    (record,) = take_fleet(now=NOW).records.values()
    assert len(stated(record)) == 13
    assert view_digest({"a": record}, NOW) == view_digest({"a": record}, later(hours=1))


def test_what_is_written_down_comes_back(reserved):
    records = take_fleet(now=NOW).records
    assert delta_from(packed_delta(records)) == records
    assert view_digest(records, NOW) != view_digest(records, later(seconds=1))
    assert SchedulingPass.objects.count() == 0
