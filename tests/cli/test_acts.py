"""Pausing, resuming, cloning, retrying and deleting from the command line."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from scheduler.models import Event, Job
from tests.cli.conftest import Commands
from tests.live import Server

pytestmark = pytest.mark.django_db(transaction=True)

HELLO: dict[str, Any] = {"name": "hello", "command": ["echo", "hi"], "target": "local"}


def submitted(cli: Commands, **fields: Any) -> str:
    return str(cli.json("job", "submit", cli.file("job.json", {**HELLO, **fields}))["job_id"])


def over(job_id: str) -> None:
    Job.objects.filter(job_id=job_id).update(state="succeeded", finished_at=timezone.now(), exit_code=0)


def test_a_waiting_job_is_paused_and_resumed(cli: Commands) -> None:
    job_id = submitted(cli)
    assert cli("job", "pause", job_id).stdout == f"{job_id} paused\n"
    assert cli.json("job", "list")[0]["short_answer"] == "paused by admin"
    assert "Paused by admin." in cli("job", "status", job_id).stdout
    assert cli("job", "resume", job_id).stdout == f"{job_id} queued\n"


def test_a_job_that_is_over_cannot_be_paused(cli: Commands) -> None:
    job_id = submitted(cli)
    over(job_id)
    result = cli("job", "pause", job_id)
    assert (result.exit_code, result.stderr) == (
        1, f"Error: {job_id} is over (succeeded); only a job that waits in the queue can be paused\n",
    )  # fmt: skip


def test_a_clone_is_submitted_and_says_of_what(cli: Commands) -> None:
    job_id = submitted(cli, secrets={"TOKEN": "hunter2"})
    result = cli("job", "clone", job_id)
    made = Job.objects.latest("pk")
    assert result.stdout == f"{made.job_id} submitted, a clone of {job_id}\n"
    shown = cli.json("job", "status", made.job_id)["job"]
    assert (shown["cloned_from"], shown["spec"]["secrets"]) == (job_id, {"TOKEN": "(not shown)"})
    assert "hunter2" not in result.output


def test_a_retry_is_only_of_what_is_over(cli: Commands) -> None:
    job_id = submitted(cli)
    early = cli("job", "retry", job_id)
    assert (early.exit_code, early.stderr) == (
        1, f"Error: {job_id} is queued; only a job that is over can be retried\n",
    )  # fmt: skip
    over(job_id)
    result = cli("job", "retry", job_id)
    made = Job.objects.latest("pk")
    assert result.stdout == f"{made.job_id} submitted, a retry of {job_id}\n"
    assert Event.objects.get(subject=made.job_id, verb="submitted").cause == f"retry of {job_id}"


@pytest.mark.parametrize("act", ["pause", "resume", "retry", "cancel"])
def test_others_may_not(cli: Commands, server: Server, act: str) -> None:
    job_id = submitted(cli)
    somebody = server.user_token(User.objects.create_user("somebody"))
    result = cli("job", act, job_id, GPULAYER_TOKEN=somebody)
    assert result.exit_code == 3
    assert f"not allowed: {job_id} belongs to admin; only admin and operators may {act} it" in result.stderr
