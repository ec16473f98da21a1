"""Asking for a pass: one message at most, and none of them matters."""

from __future__ import annotations

import pytest
from celery import current_app
from django.db import transaction

from scheduler import nudge
from scheduler.models import Attempt, PassLease
from scheduler.nudge import RUN_PASS, request_pass
from scheduler.services.passes import run_passes
from scheduler.tasks import run_pass as run_pass_task
from tests.factories import NOW, a_job, a_pass, a_worker, changed, states
from workers.changes import bump

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch):
    """What goes to the broker."""
    messages = []
    monkeypatch.setattr(current_app, "send_task", lambda *a, **k: messages.append(a))
    monkeypatch.setattr(nudge, "_silent_until", 0.0)
    monkeypatch.setattr(
        type(current_app.signature(RUN_PASS)), "apply_async", lambda self, *a, **k: messages.append((self.task, k))
    )
    return messages


def test_a_thousand_submissions_send_one_message(sent):
    for _ in range(20):
        a_job()
    assert [name for name, _ in sent] == [RUN_PASS]
    assert sent[0][1]["expires"] > 0


def test_the_next_message_goes_out_once_a_pass_has_begun(sent):
    a_worker("a")
    a_job()
    a_pass()
    a_job()
    assert len(sent) == 2


def test_nothing_is_sent_before_the_commit_or_after_a_rollback(sent):
    with transaction.atomic():
        request_pass()
        transaction.set_rollback(True)
    assert not sent
    with transaction.atomic():
        request_pass()
        assert not sent
    assert len(sent) == 1


def test_a_change_of_a_worker_asks_for_a_pass(sent):
    worker = a_worker("a")
    with transaction.atomic():
        bump([worker.pk])
    assert len(sent) == 1
    worker.refresh_from_db()
    assert worker.version == 1


def test_a_broker_that_is_away_hurts_nobody(sent, monkeypatch, caplog):
    tries = []

    def refuse(self, *a, **k):
        tries.append(self)
        raise ConnectionError("no broker")

    monkeypatch.setattr(type(current_app.signature(RUN_PASS)), "apply_async", refuse)
    a_worker("a")
    job = a_job()
    assert states(job) == ["queued"]
    assert "broker cannot be reached" in caplog.text
    changed(PassLease.objects.get(), wanted=False)
    a_job()
    assert len(tries) == 1, "for a while it isn't even tried again"
    a_pass()
    assert states(job) == ["assigned"]


def test_a_nudge_during_a_pass_is_answered_by_another_pass(sent):
    a_worker("a", gpus="2xA100")
    first = a_job()
    late = []

    def now():
        # The clock is asked during the pass: that is when somebody else submits.
        if not late and PassLease.objects.filter(wanted=False).exclude(holder="").exists():
            late.append(a_job())
        return NOW

    run_passes(now=now, holder="test")
    assert states(first, *late) == ["assigned", "assigned"]
    assert PassLease.objects.get().wanted is False


def test_the_task_runs_passes_and_takes_whatever_it_is_called_with(sent):
    a_worker("a", heartbeat_seconds=3600, seen=NOW)
    run_pass_task(unknown="argument")
    run_pass_task()
    assert not Attempt.objects.exists()
