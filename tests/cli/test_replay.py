"""`gpulayer job replay` against the real server: a kept decision made again here, from what it was made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from scheduler.models import Job
from scheduler.services.passes import run_pass
from tests.cli.conftest import Commands
from tests.factories import a_reservation, changed
from workers.models import Intent, Worker

pytestmark = pytest.mark.django_db(transaction=True)
JOB = {"name": "train", "command": ["sleep", "1"], "target": "local", "env": {"TOKEN": "hidden"}}
Machine = Callable[..., Worker]


def decided(cli: Commands, **more: Any) -> str:
    """The id of a job that a pass has just considered."""
    job_id = str(cli.json("job", "submit", cli.file("job.json", JOB | more))["job_id"])
    run_pass(now=timezone.now(), holder="test")
    return job_id


def test_a_placed_job_is_decided_again_to_the_same_bytes(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="2xT4", labels={"zone": "a"})
    a_machine("w2", gpus="8xH100")
    job_id = decided(cli, resources={"gpus": 1})
    result = cli("job", "replay", job_id)
    assert result.exit_code == 0, result.output
    assert "as kept: Starts on w1, device 0: the lowest id of 2 free workers." in result.stdout
    assert "decided again here, on 2 workers: the same, byte for byte" in result.stdout


def test_what_happened_since_changes_nothing_but_today(cli: Commands, a_machine: Machine) -> None:
    worker = a_machine("w1", gpus="2xT4")
    first, second = decided(cli, resources={"gpus": 2}), decided(cli, resources={"gpus": 1})
    changed(worker, intent=Intent.DRAINING, intent_note="new kernel")
    a_machine("w2", gpus="1xT4")
    a_reservation(worker, "user:noa")
    assert cli("job", "replay", first).exit_code == 0
    result = cli("job", "replay", second, "--today")
    assert result.exit_code == 0, result.output
    assert "as kept: Waiting: only w1 can run this job, and it is not free now." in result.stdout
    assert "with today's fleet: Starts on w2, device 0: the only worker that could take it." in result.stdout
    assert "waiting → placed on w2; 2 candidates changed" in result.stdout
    assert "w2 joined the fleet" in result.stdout


def test_the_other_policy_is_shown_beside_it(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="1xT4")
    a_machine("w2", gpus="1xH100")
    job_id = decided(cli, resources={"gpus": 1})
    result = cli("job", "replay", job_id, "--policy", "most_free_memory")
    assert "placed on w1 → placed on w2; 2 candidates changed" in result.stdout
    assert "w2 was chosen" in result.stdout
    document = cli.json("job", "replay", job_id, "--policy", "most_free_memory", "--today")
    assert document["same_bytes"]
    assert document["decision"] == document["again"]
    assert document["otherwise"]["assignments"][0]["worker"] == "w2"
    assert [change["worker"] for change in document["difference"]["changed"]] == ["w1", "w2"]


def test_a_gang_and_its_holders_come_back_whole(cli: Commands, a_machine: Machine) -> None:
    for name in ("w1", "w2", "w3"):
        a_machine(name, gpus="1xT4")
    job_id = decided(cli, resources={"gpus": 1}, distributed={"num_workers": 2, "comm_backend": "nccl"})
    document = cli.json("job", "replay", job_id)
    assert document["same_bytes"]
    assert [place["worker"] for place in document["again"]["assignments"]] == ["w1", "w2"]


def test_bytes_that_differ_are_an_answer_of_no(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="1xT4")
    job_id = decided(cli, resources={"gpus": 1})
    job = Job.objects.get(job_id=job_id)
    Job.objects.filter(pk=job.pk).update(spec=job.spec | {"target": "remote"})
    result = cli("job", "replay", job_id)
    assert result.exit_code == 0
    assert "the server itself does not find what was decided then" in result.stdout


def test_before_the_first_pass_there_is_nothing_to_replay(cli: Commands) -> None:
    job_id = str(cli.json("job", "submit", cli.file("job.json", JOB))["job_id"])
    result = cli("job", "replay", job_id)
    assert (result.exit_code, result.stderr) == (1, f"Error: no pass has considered {job_id} yet\n")
    assert cli("job", "replay", "j-99").exit_code == 1
