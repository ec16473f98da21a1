"""Deleting a job that is over: what is only its own goes with it, what tells of it stays."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from scheduler.models import Attempt, Decision, Event, Job, JobState, OutputFile, SchedulingPass, Task
from scheduler.services.deleting import delete_job
from scheduler.services.logs import log_key
from scheduler.services.retention import run_retention
from scheduler.storage import Key, Kind, storage
from tests.factories import NOW, a_job, later
from tests.scheduler.test_retention import ran
from workers.refusals import Refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


def test_takes_its_logs_outputs_and_decisions_with_it() -> None:
    task = ran()
    job, file = task.attempt.job, OutputFile.objects.get()
    delete_job(job=job, actor="user:mira", now=later(minutes=1))
    assert [model.objects.count() for model in (Job, Attempt, Task, OutputFile, Decision)] == [0] * 5
    assert [storage().size(key) for key in (log_key(task.pk), Key(Kind.OUTPUTS, file.pk))] == [None, None]
    assert SchedulingPass.objects.exists()


def test_leaves_its_events_and_one_more() -> None:
    job = ran().attempt.job
    before = Event.objects.count()
    delete_job(job=job, actor="user:mira", now=later(minutes=1))
    assert Event.objects.count() == before + 1
    told = Event.objects.get(verb="deleted")
    assert (told.subject, told.actor, told.before, told.detail["name"]) == (
        job.job_id, "user:mira", "succeeded", "train",
    )  # fmt: skip


def test_leaves_its_clones() -> None:
    job = ran().attempt.job
    clone = a_job()
    Job.objects.filter(pk=clone.pk).update(cloned_from=job)
    delete_job(job=job, actor="user:mira", now=NOW)
    assert Job.objects.get().cloned_from is None


def test_twice_is_as_good_as_once() -> None:
    job = ran().attempt.job
    for _ in range(2):
        delete_job(job=Job(pk=job.pk), actor="user:mira", now=NOW)
    assert Event.objects.filter(verb="deleted").count() == 1


@pytest.mark.parametrize(
    "state", [state for state in JobState if state not in ("succeeded", "failed", "cancelled", "timed_out")]
)
def test_of_one_that_is_not_over_is_refused(state: str) -> None:
    job = ran().attempt.job
    Job.objects.update(state=state, finished_at=None, cancel_requested_at=NOW)
    with pytest.raises(Refused, match="cancel it first") as caught:
        delete_job(job=job, actor="user:mira", now=NOW)
    assert caught.value.code == "job_not_over"
    assert Job.objects.exists()


def test_of_one_that_holds_devices_is_refused() -> None:
    job = ran().attempt.job
    Task.objects.update(released_at=None)
    with pytest.raises(Refused, match="holds something on w1") as caught:
        delete_job(job=job, actor="user:mira", now=NOW)
    assert caught.value.code == "devices_held"
    assert storage().size(log_key(Task.objects.get().pk))


def test_that_died_before_its_files_were_gone_is_finished_by_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ran()
    monkeypatch.setattr("scheduler.services.deleting._remove", lambda keys: None)
    delete_job(job=task.attempt.job, actor="user:mira", now=NOW)
    assert storage().size(log_key(task.pk))
    run_retention(now=datetime(2999, 1, 1, tzinfo=NOW.tzinfo), clock=lambda: 0.0)
    assert storage().size(log_key(task.pk)) is None
