"""What is kept of decisions, and how each of them is made again."""

from __future__ import annotations

import random

import pytest

from scheduler.core.codec import canonical_bytes, decision_to_document
from scheduler.memory import forget
from scheduler.models import Decision, Job, Kept, SchedulingPass
from scheduler.services import passes
from scheduler.services.history import MOST, prune_passes
from scheduler.services.ledger import KEYFRAME_EVERY, seen_by
from scheduler.services.recorded import recorded, recorded_at
from scheduler.snapshot import take_fleet
from tests.factories import NOW, a_job, a_pass, a_reservation, a_user, a_worker, changed, later, latest
from workers.models import Health, Intent, Label

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(monkeypatch):
    """Every decision as its pass made it: bytes by (pass number, job id)."""
    bytes_of = {}
    real = passes.plan_for

    def plan_for(queued, result, act, **digests):
        made_now.append((result.entry.job_id, canonical_bytes(decision_to_document(result.decision))))
        return real(queued, result, act, **digests)

    made_now = []
    monkeypatch.setattr(passes, "plan_for", plan_for)

    def run(at):
        made_now.clear()
        row = a_pass(at)
        for job_id, data in made_now:
            bytes_of[row.number if row else None, job_id] = data
        return row

    run.bytes_of = bytes_of
    return run


def spelled(decision):
    """All of it, as it would be sent."""
    return canonical_bytes(decision_to_document(decision))


def test_a_decision_expands_byte_for_byte_whatever_happened_since(made):
    worker = a_worker("a", gpus="2xA100", labels={"zone": "a"})
    a_worker("b", gpus="1xT4", seen=later(minutes=10))
    first, second, third = a_job(gpus=2), a_job(gpus=1), a_job(gpus=4, placement={"worker_labels": {"zone": "a"}})
    made(NOW)
    a_reservation(worker, "user:noa")
    Label.objects.filter(worker=worker).delete()
    changed(worker, intent=Intent.DRAINING, intent_note="new kernel")
    a_worker("c", gpus="8xH100", seen=later(minutes=10))
    made(later(seconds=5))
    forget()
    kept = Decision.objects.select_related("job", "pass_row").order_by("pk")
    assert len(kept) >= 4
    for row in kept:
        found = recorded_at(row)
        assert found.intact
        assert spelled(found.decision) == made.bytes_of[row.pass_row.number, row.job.job_id]
    assert recorded(first).decision.outcome == "placed"
    assert recorded(second).decision.assignments[0].worker == "b"
    assert recorded(third).decision.outcome == "unschedulable"


def test_what_earlier_jobs_of_the_pass_got_is_part_of_the_view():
    a_worker("a", gpus="2xA100")
    first, second = a_job(gpus=2), a_job(gpus=2)
    a_pass()
    found = recorded(second)
    assert [task.job_id for task in found.fleet.workers[0].tasks] == [first.job_id]
    assert recorded(first).fleet.workers[0].tasks == ()
    assert found.intact


def test_holders_and_failures_are_those_of_the_decision_and_not_of_today():
    a_reservation(a_worker("a", seen=later(hours=1)), "team:vision")
    job = a_job(owner=a_user("noa"))
    a_pass()
    a_user("noa", teams=("vision",))
    forget()
    assert recorded(job).intact
    assert recorded(job).entry.holders == ("user:noa",)
    a_pass(later(seconds=2))
    assert recorded(job).entry.holders == ("user:noa", "team:vision")


def test_a_changed_rule_is_told_from_a_changed_record():
    a_worker("a")
    job = a_job()
    a_pass()
    Decision.objects.update(digest="0" * 64)
    assert not recorded(job).intact


def test_every_pass_can_be_seen_again_across_keyframes():
    rng = random.Random(7)
    workers = [a_worker(f"w{number}", gpus="1xT4", seen=later(hours=9)) for number in range(5)]
    a_job(gpus=2)
    seen = {}
    for second in range(KEYFRAME_EVERY + 10):
        worker = rng.choice(workers)
        changed(worker, intent=Intent.DRAINING, intent_note=f"change {second}")
        row = a_pass(later(seconds=second))
        if row:
            seen[row.number] = take_fleet(now=later(seconds=second)).records
    forget()
    assert len(seen) > KEYFRAME_EVERY
    assert SchedulingPass.objects.filter(keyframe=True).count() == 2
    for row in SchedulingPass.objects.all():
        assert seen_by(row) == seen[row.number]


def test_a_pass_over_an_unchanged_worker_writes_down_only_the_changed_ones():
    workers = [a_worker(f"w{number:03}", seen=later(hours=1)) for number in range(40)]
    a_job(gpus=2)
    whole = a_pass()
    changed(workers[0], intent=Intent.DRAINING)
    part = a_pass(later(seconds=2))
    assert len(part.view) < len(whole.view) / 3


def test_the_same_answer_writes_no_second_row_and_figures_follow_after_half_a_minute():
    a_worker("a", gpus="2xA100", seen=later(hours=1))
    a_job(gpus=2)
    a_pass()
    waiting = a_job(gpus=2)
    a_pass(later(seconds=1))
    row = latest(waiting)
    worker = a_worker("other", gpus="1xA100", seen=later(hours=1))
    a_pass(later(seconds=2))
    assert Decision.objects.filter(job=waiting).count() == 2, "a new worker has a new verdict"
    changed(worker.devices.get(), foreign_memory=2 * 10**9)
    assert a_pass(later(seconds=3)) is not None
    assert latest(waiting).seen_at == later(seconds=2)
    a_pass(later(seconds=40))
    fresh = latest(waiting)
    assert fresh.pk != row.pk
    assert (fresh.made_at, fresh.seen_at) == (later(seconds=2), later(seconds=40))
    assert recorded(waiting).intact


def numbers():
    """The passes that are kept."""
    return set(SchedulingPass.objects.values_list("number", flat=True))


def kept(job):
    """Why each of its decisions is kept, oldest first."""
    return list(Decision.objects.filter(job=job).order_by("pk").values_list("kept", flat=True))


OBSTACLES = ({"intent": Intent.DRAINING}, {"health": Health.UNHEALTHY})


def obstruct(worker, turn):
    """Stand in the way in another way than before; the outcome stays."""
    changed(worker, intent=Intent.ACTIVE, health=Health.OK)
    changed(worker, **OBSTACLES[turn % 2])


def test_first_latest_outcomes_and_one_other_a_minute_are_kept():
    worker = a_worker("a", seen=later(hours=1))
    job = a_job()
    for second in range(10):
        obstruct(worker, second)
        a_pass(later(seconds=second))
    assert kept(job) == [Kept.FIRST, Kept.CHANGE]
    assert latest(job).made_at == later(seconds=9)
    obstruct(worker, 0)
    a_pass(later(seconds=70))
    assert kept(job) == [Kept.FIRST, Kept.CHANGE]
    assert latest(job).made_at == later(seconds=70)
    obstruct(worker, 1)
    a_pass(later(seconds=75))
    assert kept(job) == [Kept.FIRST, Kept.CHANGE, Kept.CHANGE]
    changed(worker, intent=Intent.ACTIVE, health=Health.OK)
    a_pass(later(seconds=77))
    assert kept(job) == [Kept.FIRST, Kept.CHANGE, Kept.OUTCOME]
    assert latest(job).outcome == "placed"


def test_no_job_keeps_more_than_two_hundred():
    worker = a_worker("a", seen=later(days=1))
    job = a_job()
    first = None
    for minute in range(MOST + 5):
        obstruct(worker, minute)
        a_pass(later(minutes=minute))
        first = first or latest(job).pk
    rows = list(Decision.objects.filter(job=job).order_by("pk"))
    assert len(rows) == MOST
    assert (rows[0].pk, rows[0].kept) == (first, Kept.FIRST)
    assert rows[-1].pk == latest(job).pk


def test_passes_that_no_decision_needs_are_dropped_by_whole_stretches():
    worker = a_worker("a", gpus="1xT4", seen=later(hours=9))
    job = a_job(gpus=2)
    for second in range(2 * KEYFRAME_EVERY + 1):
        changed(worker, intent_note=str(second), intent=Intent.DRAINING)
        a_pass(later(seconds=second))
    assert latest(job).pass_row.number in numbers(), "its decision needs it"
    Job.objects.update(decision=None)
    Decision.objects.all().delete()
    prune_passes()
    assert numbers() == {2 * KEYFRAME_EVERY + 1}
    assert a_pass(later(minutes=10)).number == 2 * KEYFRAME_EVERY + 2
    assert recorded(job).intact
