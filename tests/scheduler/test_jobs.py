"""Submitting and cancelling."""

from __future__ import annotations

import pytest

from scheduler.core.errors import DocumentError
from scheduler.models import Attempt, DeviceHold, Event, Job, Task
from scheduler.services.jobs import KeyReusedError, cancel_job, may_change, submit_job
from scheduler.services.machines import move_job, move_task
from tests.factories import NOW, a_job, a_pass, a_user, a_worker, changed, held, job_document, later, states
from workers.machine import IllegalMoveError

pytestmark = pytest.mark.django_db


def test_a_job_gets_its_id_its_owner_and_its_event():
    job = submit_job(document=job_document(name="finetune"), owner=a_user(), now=NOW)
    job.refresh_from_db()
    assert job.job_id == f"j-{job.pk}"
    assert (job.name, job.state, job.submitted_at, job.owner.username) == ("finetune", "queued", NOW, "mira")
    assert job.spec["command"] == ["true"]
    event = Event.objects.get()
    assert (event.actor, event.subject, event.verb, event.after) == ("user:mira", job.job_id, "submitted", "queued")


def test_every_mistake_of_a_document_is_told_at_once_and_nothing_is_stored():
    with pytest.raises(DocumentError) as refused:
        submit_job(document={"name": "", "target": "moon"}, owner=a_user(), now=NOW)
    assert {problem.path for problem in refused.value.problems} >= {"name", "command", "target"}
    assert not Job.objects.exists()


def test_the_same_key_again_gives_the_first_job():
    first = a_job(key="k1")
    assert a_job(key="k1").pk == first.pk
    assert a_job(key="k2").pk != first.pk
    assert a_job(key="k1", owner=a_user("noa")).pk != first.pk, "keys are their owner's"
    assert Job.objects.count() == 3


def test_the_same_key_with_another_document_is_refused():
    a_job(key="k1")
    with pytest.raises(KeyReusedError, match="j-"):
        a_job(key="k1", gpus=2)


@pytest.mark.parametrize("key", ["x" * 201, "a\nb"])
def test_a_key_that_is_none(key):
    with pytest.raises(DocumentError, match="Idempotency-Key"):
        a_job(key=key)


@pytest.mark.parametrize(
    ("name", "staff", "active", "allowed"),
    [
        ("mira", False, True, True),
        ("noa", False, True, False),
        ("ada", True, True, True),
        ("mira", False, False, False),
    ],
)
def test_its_owner_and_operators_may_cancel(name, staff, active, allowed):
    job = a_job(owner=a_user("mira"))
    user = changed(a_user(name, staff=staff), is_active=active)
    assert may_change(user, job) is allowed


@pytest.mark.parametrize("state", ["queued", "paused"])
def test_a_job_that_waits_is_cancelled_at_once(state):
    job = changed(a_job(), state=state)
    job = cancel_job(job=job, actor="user:mira", now=NOW)
    assert (job.state, job.finished_at, job.cancel_requested_at) == ("cancelled", NOW, NOW)


def test_a_job_that_no_agent_has_claimed_is_cancelled_at_once_and_frees_its_devices():
    a_worker("a", gpus="2xA100")
    job = a_job(gpus=2)
    a_pass()
    cancel_job(job=job, actor="user:mira", now=later(seconds=1))
    assert states(job) == ["cancelled"]
    task = Task.objects.get()
    assert (task.state, task.released_at) == ("revoked", later(seconds=1))
    assert (Attempt.objects.get().state, Attempt.objects.get().active) == ("cancelled", False)
    assert held() == 0
    assert DeviceHold.objects.count() == 2


def test_a_job_that_was_claimed_is_cancelled_by_its_agent():
    a_worker("a")
    job = a_job()
    a_pass()
    move_task(Task.objects.get(), "claimed", frm="assigned", actor="worker:a", now=NOW, claimed_at=NOW)
    Attempt.objects.update(go_at=NOW)
    job = cancel_job(job=job, actor="user:mira", now=later(seconds=1))
    assert (job.state, job.cancel_requested_at) == ("cancelling", later(seconds=1))
    assert held() == 1


def test_cancelling_again_or_too_late_changes_nothing():
    job = cancel_job(job=a_job(), actor="user:mira", now=NOW)
    again = cancel_job(job=job, actor="user:noa", now=later(seconds=9))
    assert (again.state, again.finished_at) == ("cancelled", NOW)
    assert Event.objects.filter(verb="state").count() == 1


def test_a_move_that_the_table_lacks_is_a_mistake_in_the_code():
    job = a_job()
    with pytest.raises(IllegalMoveError, match="'queued' to 'running'"):
        move_job(job, "running", frm="queued", actor="x", now=NOW)
    assert states(job) == ["queued"]


def test_a_move_from_a_state_that_is_over_changes_nothing():
    job = a_job()
    Job.objects.filter(pk=job.pk).update(state="paused")
    assert move_job(job, "assigned", frm="queued", actor="x", now=NOW) is False
    assert states(job) == ["paused"]
    assert not Event.objects.filter(verb="state").exists()


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "timed_out"])
@pytest.mark.parametrize("to", ["queued", "running", "cancelling", "failed", "succeeded"])
def test_what_is_over_stays_over(state, to):
    with pytest.raises(IllegalMoveError):
        move_job(a_job(), to, frm=state, actor="x", now=NOW)
