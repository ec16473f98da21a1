"""The doors of why on the command line: the server's truth in the words of the offline commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from scheduler.models import Task
from scheduler.services.holding import release
from scheduler.services.passes import run_pass
from tests.cli.conftest import Commands
from tests.factories import changed
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)
JOB = {"name": "train", "command": ["sleep", "1"], "target": "local", "env": {"TOKEN": "hidden"}}
Machine = Callable[..., Worker]

KINDS: dict[str, dict[str, Any]] = {
    "placed": {"resources": {"gpus": 1}},
    "waiting": {"resources": {"gpus": 4}},
    "never fits": {"resources": {"gpus": 4, "gpu_memory_gb": 800}, "runtime": {"frameworks": {"torch": ">=3"}}},
    "a gang": {"resources": {"gpus": 1}, "distributed": {"num_workers": 4, "comm_backend": "nccl"}},
    "with a note": {"placement": {"worker_labels": {"zome": "a"}}},
}


def decided(cli: Commands, **more: Any) -> str:
    """The id of a job that a pass has just considered."""
    job_id = str(cli.json("job", "submit", cli.file("job.json", JOB | more))["job_id"])
    run_pass(now=timezone.now(), holder="test")
    return job_id


@pytest.fixture
def machines(cli: Commands, a_machine: Machine) -> str:
    """Three machines, and the job that holds some of the first."""
    for name, gpus in (("w1", "4xA100"), ("w2", "2xT4"), ("w3", "1xH100")):
        a_machine(name, gpus=gpus, labels={"zone": "a"})
    return decided(cli, resources={"gpus": 1})


def exported(cli: Commands, job_id: str) -> tuple[str, ...]:
    """What its decision was made from, as files for the offline command."""
    from gpulayer_site.client import Config, People

    people = People(Config(cli.environment["GPULAYER_URL"], cli.environment["GPULAYER_TOKEN"], None, "test"))
    found = people.get(f"jobs/{job_id}/replay")
    people.close()
    fleet = cli.file("fleet.json", json.dumps(found["workers"]))
    queue = cli.file("queue.json", json.dumps([found["entry"]]))
    return ("schedule", "--workers", str(fleet), "--jobs", str(queue), "--explain", job_id)


@pytest.mark.parametrize("grouping", ["gpu", "worker", "label:zone"])
@pytest.mark.parametrize("kind", KINDS)
def test_explain_is_what_the_offline_command_says(cli: Commands, machines: str, kind: str, grouping: str) -> None:
    job_id = decided(cli, **KINDS[kind])
    here = cli("job", "explain", job_id, "--group-by", grouping)
    offline = cli(*exported(cli, job_id), "--group-by", grouping)
    assert (here.exit_code, offline.exit_code) == (0, 0), here.output
    head, decided_by, *rest = here.stdout.splitlines()
    assert [head, *rest] == offline.stdout.splitlines()
    assert re.match(r"decided at [-0-9]{10} [:0-9]{8} UTC by pass \d+; the job is ", decided_by)


@pytest.mark.parametrize("kind", KINDS)
def test_explain_in_json_is_what_the_offline_command_says(cli: Commands, machines: str, kind: str) -> None:
    job_id = decided(cli, **KINDS[kind])
    found = cli.json("job", "explain", job_id)
    (offline,) = json.loads(cli(*exported(cli, job_id), "--json").stdout)
    why = offline.pop("why")
    assert found["decision"] == offline
    for name, told in why.items():
        if name != "passed_over":  # nobody records it for files
            assert _without_env(found["why"][name]) == told, name


def _without_env(told: Any) -> Any:
    """The same without what is not exported."""
    if isinstance(told, dict):
        return {key: _without_env(value) for key, value in told.items() if key != "env"}
    return [_without_env(value) for value in told] if isinstance(told, list) else told


def test_explain_tells_who_went_ahead_and_when_it_may_start(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="2xT4")
    first = decided(cli, resources={"gpus": 1}, timeout_s=3600)
    changed(Task.objects.get(attempt__job__job_id=first), claimed_at=timezone.now(), started_at=timezone.now())
    waiting = decided(cli, resources={"gpus": 2})
    later = decided(cli, resources={"gpus": 1}, timeout_s=60)
    told = cli("job", "explain", waiting).stdout
    assert "Passed over: 1 later job started on workers that fit this one\n" in told
    assert f"  {later} train took device 1 on w1\n" in told
    assert "\nIn the way on 1 worker: earliest known time is" in told
    assert f", when {first} reaches its time limit\n" in told


def test_why_not_there(cli: Commands, machines: str) -> None:
    job_id = decided(cli, resources={"gpus": 2, "gpu_memory_gb": 40})
    told = cli("job", "why-not", job_id, "w2").stdout
    assert "w2 can never run it, as both stand: 1 of 7 checks that were asked failed.\n" in told
    assert "GPU memory" in told
    assert "What would have to give\n" in told
    assert "GPU memory 40 GB → 16 GB: +1 worker" in told
    assert cli.json("job", "why-not", job_id, "w2")["why_not"]["verdict"] == "incompatible"
    missing = cli("job", "why-not", job_id, "w/9")
    assert (missing.exit_code, missing.stderr) == (1, f"Error: no worker 'w/9' was known when {job_id} was decided\n")


def test_changes_between_decisions(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="1xT4")
    holder, job_id = decided(cli, resources={"gpus": 1}), decided(cli, resources={"gpus": 1})
    assert "nothing to compare: only one decision is kept" in cli("job", "changes", job_id).stdout
    task = Task.objects.get(attempt__job__job_id=holder)
    changed(task, claimed_at=timezone.now(), state="succeeded", finished_at=timezone.now())
    release([task], now=timezone.now())
    run_pass(now=timezone.now(), holder="test")
    told = cli("job", "changes", job_id).stdout
    assert "waiting → placed on w1; 1 candidate changed" in told
    assert f"w1 came free and was chosen: {holder} released device 0" in told
    found = cli.json("job", "changes", job_id)
    first, last = found["decisions"][1]["id"], found["decisions"][0]["id"]
    assert cli("job", "changes", job_id, "--from", first, "--to", last).stdout == told
    back = cli("job", "explain", job_id, "--decision", first).stdout
    assert "Waiting: only w1 can run this job" in back
    assert cli("job", "changes", job_id, "--from", 99999).exit_code == 1


def test_the_whole_queue(cli: Commands, a_machine: Machine) -> None:
    before = cli("job", "rollup")
    assert (before.exit_code, before.stderr) == (1, "Error: no pass has looked at the queue yet\n")
    a_machine("w1", gpus="1xT4")
    holder = decided(cli, resources={"gpus": 1})
    decided(cli, resources={"gpus": 1})
    decided(cli, resources={"gpus": 9})
    told = cli("job", "rollup").stdout
    assert told.startswith("0 placed, 1 waiting, 1 never fits\n")
    assert f"the end of {holder} on w1 would let 1 job start" in told
    assert cli.json("job", "rollup")["rollup"]["waiting"] == 1


@pytest.mark.parametrize("words", [("explain", "j-99"), ("why-not", "x/y", "w"), ("changes", "../jobs")])
def test_what_is_not_there_ends_with_one_line(cli: Commands, words: tuple[str, ...]) -> None:
    result = cli("job", *words)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.stderr
