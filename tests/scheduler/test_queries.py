"""Lists by key."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler import queries as asked
from scheduler.models import Job
from scheduler.queries import row_of, worker_row, workers_page
from scheduler.services.jobs import cancel_job
from tests.factories import NOW, a_job, a_pass, a_user, a_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def seen_now(monkeypatch):
    """Workers of the factories were just heard of."""
    monkeypatch.setattr("scheduler.occupancy.timezone.now", lambda: NOW)


def jobs_page(**filters):
    """Of all jobs."""
    return asked.jobs_page(Job.objects.all(), **filters)


def ids(page):
    """Job ids of a page."""
    return [row.job.job_id for row in page.rows]


def test_nothing_is_an_empty_page():
    assert jobs_page().rows == ()
    assert jobs_page().after is None
    assert workers_page().rows == ()
    assert worker_row("a") is None


def test_pages_follow_each_other_newest_first():
    jobs = [a_job().job_id for _ in range(5)][::-1]
    first = jobs_page(limit=2)
    second = jobs_page(limit=2, after=first.after)
    third = jobs_page(limit=2, after=second.after)
    assert ids(first) + ids(second) + ids(third) == jobs
    assert third.after is None


@pytest.mark.parametrize("after", ["x", "j-", "j-٣", "j-99999999999999999999999", "'; drop"])
def test_a_key_that_is_none_is_taken_as_absent(after):
    job = a_job()
    assert ids(jobs_page(after=after)) == [job.job_id]


def test_jobs_are_found_by_state_owner_and_words():
    one, two = a_job(name="finetune"), a_job(name="evaluate", owner=a_user("noa"))
    cancel_job(job=one, actor="user:mira", now=NOW)
    assert ids(jobs_page(state="queued")) == [two.job_id]
    assert ids(jobs_page(state="over")) == [one.job_id]
    assert ids(jobs_page(state="active")) == [two.job_id]
    assert ids(jobs_page(owner="noa")) == [two.job_id]
    assert ids(jobs_page(q="TUNE")) == [one.job_id]
    assert ids(jobs_page(q=two.job_id)) == [two.job_id]


def test_a_job_comes_with_its_place():
    a_worker("a", gpus="2xA100")
    job = a_job(gpus=2)
    a_pass()
    (task,) = row_of(job).tasks
    assert (task.worker.name, task.devices) == ("a", [0, 1])
    (row,) = workers_page().rows
    assert [held.attempt.job.job_id for held in row.tasks] == [job.job_id]
    assert [load.job_id for load in row.view.tasks] == [job.job_id]


def test_workers_are_listed_by_name_also_those_that_no_pass_sees():
    a_worker("b")
    a_worker("a", liveness="enrolled")
    a_worker("c", liveness="revoked")
    page = workers_page(limit=1)
    assert [(row.worker.name, row.view) for row in page.rows] == [("a", None)]
    assert [row.worker.name for row in workers_page(after=page.after).rows] == ["b"]
    assert [row.worker.name for row in workers_page(q="B").rows] == ["b"]


@pytest.mark.parametrize("count", [1, 20])
def test_a_list_costs_the_same_whatever_it_shows(count):
    for number in range(count):
        a_worker(f"w{number}")
        a_job()
    a_pass()
    assert queries(lambda: [(row.job.owner.username, row.job.decision.summary) for row in jobs_page().rows]) == 2
    assert queries(lambda: [row.tasks[0].attempt.job.owner.username for row in workers_page().rows]) == 7


def queries(act):
    """How many queries it takes."""
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)
