"""What is kept with a decision for the history of a job: its steps, how near it is, and which pass first said so."""

from __future__ import annotations

import pytest

from scheduler.models import Decision
from tests.factories import NOW, a_job, a_pass, a_worker, changed, later

pytestmark = pytest.mark.django_db


def latest(job):
    """The summary of its latest decision."""
    return Decision.objects.filter(job=job).latest("pk").summary


def test_the_steps_of_the_funnel_are_kept():
    a_worker("a", gpus="4xA100")
    a_worker("b", gpus="4xA100", origin="cloud")
    job = a_job(gpus=2)
    a_pass()
    assert latest(job)["steps"] == {"workers": 2, "tier": 1, "compatible": 1, "available": 1, "selected": 1}


def test_how_near_a_waiting_job_is_counts_what_could_be_given_to_it():
    a_worker("a", gpus="4xA100")
    a_job(gpus=3)
    waits, placed_one = a_job(gpus=2), a_job(gpus=1)
    a_pass()
    assert latest(waits)["near"] == {"free": 1, "needed": 2, "unit": "devices"}
    assert "near" not in latest(placed_one)


def test_nothing_of_a_worker_that_takes_no_jobs_counts_as_near():
    changed(a_worker("a", gpus="4xA100"), intent="draining")
    job = a_job(gpus=2)
    a_pass()
    assert latest(job)["near"] == {"free": 0, "needed": 2, "unit": "devices"}


def test_of_a_gang_workers_are_counted():
    a_worker("a", gpus="1xA100")
    a_worker("b", gpus="1xA100")
    a_job(gpus=1)
    job = a_job(gpus=1, distributed={"num_workers": 2})
    a_pass()
    assert latest(job)["near"] == {"free": 1, "needed": 2, "unit": "workers"}


def test_a_decision_whose_figures_are_brought_up_to_date_knows_the_pass_that_made_it():
    a_worker("a", gpus="1xA100", heartbeat_seconds=3600)
    a_job()
    job = a_job()
    a_pass(at=NOW)
    first = latest(job)["pass"]
    a_job()
    a_pass(at=later(seconds=90))
    row = Decision.objects.filter(job=job).latest("pk")
    assert row.refreshed
    assert row.summary["pass"] == first < row.pass_row.number
