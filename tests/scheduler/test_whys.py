"""What the core is told to explain a decision: time limits, and who went ahead."""

from __future__ import annotations

import pytest

from scheduler.models import Task
from scheduler.services.recorded import recorded
from scheduler.services.whys import blockers_of, passed_over_of, scene_of, time_limits
from tests.factories import NOW, a_job, a_pass, a_worker, changed, later

pytestmark = pytest.mark.django_db


def started(job, at=NOW):
    """As if its agent had said so."""
    for task in Task.objects.filter(attempt__job=job):
        changed(task, started_at=at, claimed_at=at)


def test_a_time_limit_begins_when_the_task_does():
    a_worker("a", gpus="4xA100", seen=later(hours=9))
    limited, endless, not_yet = a_job(timeout_s=3600), a_job(), a_job(timeout_s=60)
    a_pass()
    started(limited)
    started(endless)
    assert time_limits() == {limited.job_id: later(hours=1), endless.job_id: None}
    started(not_yet, later(minutes=5))
    assert time_limits()[not_yet.job_id] == later(minutes=6)


def test_a_gang_ends_with_its_last_task():
    a_worker("a", gpus="1xA100", seen=later(hours=9))
    a_worker("b", gpus="1xA100", seen=later(hours=9))
    gang = a_job(timeout_s=60, distributed={"num_workers": 2})
    a_pass()
    first, last = Task.objects.order_by("rank")
    changed(first, started_at=NOW)
    assert time_limits() == {}
    changed(last, started_at=later(seconds=30))
    assert time_limits() == {gang.job_id: later(seconds=90)}


def test_the_earliest_known_time_of_a_job_that_waits():
    a_worker("a", gpus="2xA100", seen=later(hours=9))
    first, second, waiting = a_job(timeout_s=600), a_job(timeout_s=1200), a_job(gpus=2)
    a_pass()
    started(first)
    started(second)
    found = blockers_of(recorded(waiting))
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
    kept = recorded(waiting)
    with django_assert_max_num_queries(8):
        found = passed_over_of(kept, now=later(minutes=40))
    assert [one.job_id for one in found.later] == [small.job_id]
    assert elsewhere.job_id not in str(found)
    assert found.later[0].places == (("a", (1,)),)
    assert found.earlier == (earlier.job_id,)
    assert found.reserve
    assert not passed_over_of(kept, now=later(minutes=20)).reserve


def test_the_scene_is_the_jobs_own_turn():
    a_worker("a", gpus="2xA100", seen=later(hours=9))
    first, second = a_job(), a_job(gpus=2)
    a_pass()
    assert scene_of(recorded(first)).standing.starts
    assert not scene_of(recorded(second)).standing.starts
