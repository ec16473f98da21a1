"""What the core is told to explain a decision: time limits, and who went ahead."""

from __future__ import annotations

import pytest

from scheduler.core.why import part
from scheduler.models import Task
from scheduler.services.holding import release
from scheduler.services.recorded import recorded
from scheduler.services.whys import grounds_of, why_not_on
from tests.factories import NOW, a_job, a_pass, a_user, a_worker, changed, later

pytestmark = pytest.mark.django_db


def started(job, at=NOW):
    """As if its agent had said so."""
    for task in Task.objects.filter(attempt__job=job):
        changed(task, started_at=at, claimed_at=at)


def ended(job, at):
    """As if its task had ended then."""
    task = Task.objects.get(attempt__job=job)
    changed(task, started_at=task.started_at or NOW, claimed_at=NOW, state="succeeded", finished_at=at)
    release([task], now=at)


def told(name, job, *, now=NOW, user=None, **more):
    """One answer about the job's latest decision."""
    job.refresh_from_db()
    return part(name, grounds_of(recorded(job), job, user=user or job.owner, now=now, **more))


def time_limits(job):
    job.refresh_from_db()
    return grounds_of(recorded(job), job, user=job.owner, now=NOW).ends()


def test_a_time_limit_begins_when_the_task_does():
    a_worker("a", gpus="4xA100", seen=later(hours=9))
    limited, endless, not_yet = a_job(timeout_s=3600), a_job(), a_job(timeout_s=60)
    waiting = a_job(gpus=4)
    a_pass()
    started(limited)
    started(endless)
    assert time_limits(waiting) == {limited.job_id: later(hours=1), endless.job_id: None}
    started(not_yet, later(minutes=5))
    assert time_limits(waiting)[not_yet.job_id] == later(minutes=6)


def test_a_hold_has_its_own_limit_and_a_longer_one_once_it_was_extended():
    a_worker("a", gpus="4xA100", seen=later(hours=9))
    held, longer = a_job(command=None, hold_s=3600), a_job(command=None, hold_s=3600)
    waiting = a_job(gpus=4)
    a_pass()
    started(held)
    started(longer)
    changed(longer, hold_until=later(hours=3))
    assert time_limits(waiting) == {held.job_id: later(hours=1), longer.job_id: later(hours=3)}


def test_an_earlier_decision_knows_the_limits_of_what_ran_then_and_nothing_of_later_tasks():
    a_worker("a", gpus="1xA100", seen=later(hours=9))
    first, waiting = a_job(timeout_s=600), a_job(timeout_s=60)
    a_pass()
    started(first)
    before = recorded(waiting)
    ended(first, later(minutes=5))
    a_pass(later(minutes=6))
    started(waiting, later(minutes=6))
    waiting.refresh_from_db()
    grounds = grounds_of(before, waiting, user=waiting.owner, now=later(hours=1))
    assert grounds.ends() == {first.job_id: later(minutes=10)}
    assert part("blockers", grounds).earliest == later(minutes=10)


def test_a_gang_ends_with_its_last_task():
    a_worker("a", gpus="1xA100", seen=later(hours=9))
    a_worker("b", gpus="1xA100", seen=later(hours=9))
    gang = a_job(timeout_s=60, distributed={"num_workers": 2})
    waiting = a_job()
    a_pass()
    first, last = Task.objects.order_by("rank")
    changed(first, started_at=NOW)
    assert time_limits(waiting) == {}
    changed(last, started_at=later(seconds=30))
    assert time_limits(waiting) == {gang.job_id: later(seconds=90)}


def test_the_earliest_known_time_of_a_job_that_waits():
    a_worker("a", gpus="2xA100", seen=later(hours=9))
    first, second, waiting = a_job(timeout_s=600), a_job(timeout_s=1200), a_job(gpus=2)
    a_pass()
    started(first)
    started(second)
    found = told("blockers", waiting)
    assert (found.earliest, found.at) == (later(minutes=20), ("a",))
    assert found.ending == (first.job_id, second.job_id)


def test_later_jobs_that_went_ahead_and_earlier_ones_that_wait(django_assert_max_num_queries):
    a_worker("a", gpus="2xA100", seen=later(hours=9))
    a_worker("b", gpus="1xT4", seen=later(hours=9))
    a_job()
    a_pass()
    earlier, waiting = a_job(gpus=2), a_job(gpus=2)
    a_pass(later(seconds=1))
    small = a_job(at=later(minutes=10), resources={"gpu_memory_gb": 40})
    elsewhere = a_job(at=later(minutes=11), resources={"gpu_models": ["Tesla T4"]})
    a_pass(later(minutes=12))
    recorded(waiting)
    with django_assert_max_num_queries(10):
        found = told("passed_over", waiting, now=later(minutes=40))
    assert [one.job_id for one in found.later] == [small.job_id]
    assert elsewhere.job_id not in str(found)
    assert found.later[0].places == (("a", (1,)),)
    assert found.earlier == (earlier.job_id,)
    assert found.reserve
    assert not told("passed_over", waiting, now=later(minutes=20)).reserve


def test_a_job_that_started_was_passed_over_until_then_and_waits_behind_nobody():
    worker = a_worker("a", gpus="1xA100", seen=later(hours=9))
    first, job = a_job(), a_job()
    a_pass()
    ended(first, later(minutes=1))
    a_job(gpus=8)
    a_pass(later(minutes=2))
    assert Task.objects.get(attempt__job=job).worker == worker
    changed(job, started_at=later(minutes=3))
    a_worker("b", gpus="1xA100", seen=later(hours=9))
    a_job(at=later(minutes=4))
    a_pass(later(minutes=5))
    found = told("passed_over", job, now=later(hours=2))
    assert (found.later, found.earlier, found.waited) == ((), (), later(minutes=3) - job.submitted_at)


def test_the_scene_is_the_jobs_own_turn():
    a_worker("a", gpus="2xA100", seen=later(hours=9))
    first, second = a_job(), a_job(gpus=2)
    a_pass()
    assert told("order", first).eligible == 1
    assert told("order", second).eligible == 0


def test_values_of_env_are_in_edited_documents_for_those_only_who_may_see_them():
    a_worker("a", gpus="1xA100", seen=later(hours=9))
    job = a_job(gpus=2, env={"TOKEN": "hidden"})
    a_pass()
    for user, seen in ((job.owner, True), (a_user("ada", staff=True), True), (a_user("eve"), False)):
        (edit,) = told("relaxations", job, user=user).alone
        assert bool(edit.spec.env) is seen
        (edit,) = why_not_on(recorded(job), job, "a", user=user).in_the_job
        assert bool(edit.spec.env) is seen


def test_a_worker_that_the_fleet_of_a_decision_did_not_have():
    a_worker("a", seen=later(hours=9))
    job = a_job(gpus=2)
    a_pass()
    a_worker("b", seen=later(hours=9))
    with pytest.raises(KeyError):
        why_not_on(recorded(job), job, "b", user=job.owner)
