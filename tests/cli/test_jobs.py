"""`gpulayer job …` against the real server."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner
from django.contrib.auth.models import Group, User
from django.utils import timezone

from gpulayer_site.client import connect
from scheduler.cli_follow import exit_code_of, follow
from scheduler.models import Job, Task
from scheduler.services.logs import append_log
from scheduler.services.machines import move_job
from tests.cli.conftest import Commands
from tests.live import Server
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)
JOB = {"name": "train", "command": ["sleep", "1"], "target": "local"}


def submitted(cli: Commands, **more: Any) -> str:
    """The id of a job that was just submitted."""
    return str(cli.json("job", "submit", cli.file("job.json", JOB | more))["job_id"])


def test_a_job_is_given_to_a_team_and_found_by_it(cli: Commands) -> None:
    Group.objects.create(name="vision")
    given = cli.json("job", "submit", cli.file("job.json", JOB), "--team", "vision")
    submitted(cli)
    assert given["team"] == "vision"
    assert [job["job_id"] for job in cli.json("job", "list", "--team", "vision")] == [given["job_id"]]
    refused = cli("job", "submit", cli.file("job.json", JOB), "--team", "nobodys")
    assert (refused.exit_code, "team" in refused.stderr) == (2, True)


def written(job_id: str, *frames: tuple[bytes, str]) -> None:
    """Output that a worker has handed over."""
    task = Task.objects.get(attempt__job__job_id=job_id)
    body = b"".join(struct.pack(">cQI", stream, 1, len(text)) + text.encode() for stream, text in frames)
    append_log(task_id=task.pk, offset=task.log_size, body=body, now=timezone.now())


def over(job_id: str, state: str = "succeeded", **fields: Any) -> Job:
    """The job, ended as if its worker had said so."""
    job = Job.objects.get(job_id=job_id)
    for to in ("running", state):
        assert move_job(job, to, frm=job.state, actor="test", now=timezone.now(), cause="a test", **fields)
    return job


@pytest.mark.parametrize(("name", "text"), [
    ("job.json", json.dumps(JOB)), ("job.yaml", "name: train\ncommand: [sleep, '1']\ntarget: local\n"),
    ("job", "name: train\ncommand: [sleep, '1']\ntarget: local\n"),
])  # fmt: skip
def test_a_file_is_submitted_in_either_format(cli: Commands, name: str, text: str) -> None:
    result = cli("job", "submit", cli.file(name, text))
    assert result.exit_code == 0, result.output
    job = Job.objects.get()
    assert result.stdout.splitlines()[0] == f"{job.job_id} submitted"
    assert f"/jobs/{job.job_id}" in result.stdout
    assert job.spec["command"] == ["sleep", "1"]


def test_standard_input_is_submitted(cli: Commands) -> None:
    assert cli("job", "submit", "-", input=json.dumps(JOB)).exit_code == 0
    assert Job.objects.get().name == "train"


def test_every_mistake_of_a_document_is_told_at_once(cli: Commands) -> None:
    result = cli("job", "submit", cli.file("job.yaml", "name: x\ncomand: [a]\ntarget: mars\n"))
    assert result.exit_code == 2
    said = result.stderr
    assert "comand: found an unknown field; expected a known one; the nearest is command" in said
    assert "command: found nothing" in said
    assert 'target: found "mars"; expected one of local, remote, cloud' in said
    assert not Job.objects.exists()


@pytest.mark.parametrize(("content", "said"), [
    (None, "No such file or directory"), (b"\xff\xfe\x00", "no UTF-8 text"), (b"", "found no documents"),
    (b"a: [b\n", "YAML"), (b"a: 1\na: 2\n", '"a" more than once'),
])  # fmt: skip
def test_a_file_that_is_no_document_is_a_mistake_of_the_user(cli: Commands, content: bytes | None, said: str) -> None:
    path = cli.folder / "job.yaml"
    if content is not None:
        path.write_bytes(content)
    result = cli("job", "submit", path)
    assert result.exit_code == 2
    assert said in result.stderr


def test_jobs_are_listed_newest_first_with_their_answers(
    cli: Commands, server: Server, a_machine: Callable[..., Worker]
) -> None:
    a_machine()
    fits, never = submitted(cli), submitted(cli, name="never", resources={"gpus": 99})
    server.until(lambda: Job.objects.exclude(decision=None).count() == 2)
    lines = cli("job", "list").stdout.splitlines()
    assert lines[0].split() == ["JOB", "STATE", "NAME", "OWNER", "ANSWER"]
    assert [line.split()[:3] for line in lines[1:]] == [[never, "queued", "never"], [fits, "assigned", "train"]]
    assert [each["job_id"] for each in cli.json("job", "list", "--state", "queued")] == [never]
    assert [each["job_id"] for each in cli.json("job", "list", "-q", "trai")] == [fits]
    assert cli("job", "list", "--state", "failed").stdout == "no such jobs\n"


def test_a_list_goes_over_many_pages(cli: Commands, server: Server) -> None:
    for _ in range(101):
        server.submit("true")
    assert len(cli.json("job", "list", "--limit", 1000)) == 101
    assert len(cli.json("job", "list", "--limit", 100)) == 100
    assert cli("job", "list", "--limit", 100).stderr == "the first 100; --limit shows more\n"
    assert cli("job", "list", "--limit", 102).stderr == ""


def test_the_status_says_which_attempt_it_is_where_there_may_be_several(
    cli: Commands, server: Server, a_machine: Callable[..., Worker]
) -> None:
    a_machine()
    job_id = submitted(cli, retries={"max": 3})
    server.until(lambda: Job.objects.get().state == "assigned")
    assert ", attempt 1 of 4\n" in cli("job", "status", job_id).stdout


def test_the_status_has_the_answer_the_funnel_and_every_candidate(
    cli: Commands, server: Server, a_machine: Callable[..., Worker]
) -> None:
    a_machine("w1")
    a_machine("w2", origin="cloud")
    a_machine("w3", gpus="?")
    job_id = submitted(cli, resources={"gpus": 1, "gpu_memory_gb": 40})
    server.until(lambda: Job.objects.get().state == "assigned")
    said = cli("job", "status", job_id)
    assert said.exit_code == 0
    assert "on w1, devices 0" in said.stdout
    assert "workers known" in said.stdout
    assert "origin cloud, wanted local" in said.stdout
    assert "unknown" in said.stdout
    each = cli("job", "status", job_id, "--all").stdout
    assert [line.split()[0] for line in each.splitlines() if line.startswith("w")] == ["w1", "w2", "w3"]
    document = cli.json("job", "status", job_id)
    assert document["job"]["worker"] == "w1"
    assert document["decision"]["outcome"] == "placed"
    assert len(cli.json("job", "status", job_id, "--all")["decision"]["candidates"]) == 3


def test_before_the_first_pass_there_is_no_decision_and_that_is_no_error(cli: Commands) -> None:
    job_id = submitted(cli)
    result = cli("job", "status", job_id)
    assert result.exit_code == 0
    assert "no pass has considered it yet" in result.stdout
    assert cli.json("job", "status", job_id)["decision"] is None


@pytest.mark.parametrize("command", ["status", "logs", "cancel", "wait"])
def test_a_job_that_is_not_there_is_said_and_no_more(cli: Commands, command: str) -> None:
    result = cli("job", command, "j-99")
    assert (result.exit_code, result.stderr) == (1, "Error: no job 'j-99'\n")


def test_logs_go_to_the_streams_they_came_from(cli: Commands, server: Server, a_machine: Callable[..., Worker]) -> None:
    a_machine()
    job_id = submitted(cli)
    server.until(lambda: Job.objects.get().state == "assigned")
    written(job_id, (b"o", "out\n"), (b"e", "err\n"), (b"o", "tail"))
    result = cli("job", "logs", job_id)
    assert (result.stdout, result.stderr) == ("out\ntail", "err\n")
    lines = [json.loads(line) for line in cli("job", "logs", job_id, "--json").stdout.splitlines()]
    assert [(each["stream"], each["text"]) for each in lines] == [
        ("stdout", "out\n"), ("stderr", "err\n"), ("stdout", "tail"),
    ]  # fmt: skip


def test_following_a_log_ends_with_the_job(cli: Commands, server: Server, a_machine: Callable[..., Worker]) -> None:
    a_machine()
    job_id = submitted(cli)
    server.until(lambda: Job.objects.get().state == "assigned")
    written(job_id, (b"o", "all of it\n"))
    over(job_id)
    assert cli("job", "logs", job_id, "-f").stdout == "all of it\n"


def test_how_it_ended_is_said_after_all_that_it_wrote(
    cli: Commands, server: Server, a_machine: Callable[..., Worker]
) -> None:
    a_machine()
    job_id = submitted(cli)
    server.until(lambda: Job.objects.get().state == "assigned")
    written(job_id, (b"o", "all of it\n"))
    over(job_id)
    followed = CliRunner().invoke(
        click.Command("follow", callback=lambda: follow(connect(), job_id, with_log=True)), env=cli.environment
    )
    assert followed.output == f"all of it\n{job_id} succeeded\n"


def test_cancelling_says_what_became_of_it(cli: Commands) -> None:
    job_id = submitted(cli)
    assert cli("job", "cancel", job_id).stdout == f"{job_id} cancelled\n"
    waited = cli("job", "wait", job_id)
    assert (waited.exit_code, waited.stderr) == (130, f"{job_id} cancelled before it started\n")
    assert cli.json("job", "list")[0]["short_answer"] == "cancelled before it started"
    assert cli("job", "cancel", job_id).stdout == f"{job_id} cancelled\n"


def test_cancelling_what_is_over_says_so(cli: Commands, server: Server, a_machine: Callable[..., Worker]) -> None:
    a_machine()
    job_id = submitted(cli)
    server.until(lambda: Job.objects.get().state == "assigned")
    over(job_id)
    assert cli("job", "cancel", job_id).stdout == f"{job_id} was over: succeeded\n"


def test_only_its_owner_or_an_operator_may_cancel(cli: Commands, server: Server) -> None:
    job_id = submitted(cli)
    somebody = server.user_token(User.objects.create_user("somebody"))
    result = cli("job", "cancel", job_id, GPULAYER_TOKEN=somebody)
    assert result.exit_code == 3
    assert f"not allowed: {job_id} belongs to admin" in result.stderr


@pytest.mark.parametrize(("state", "fields", "code"), [
    ("succeeded", {"exit_code": 0}, 0), ("failed", {"exit_code": 3, "failure_code": "exit_code"}, 3),
    ("failed", {"failure_code": "workdir_missing", "failure_text": "h: there is no folder /x"}, 125),
    ("timed_out", {"failure_code": "timed_out"}, 124),
])  # fmt: skip
def test_waiting_ends_with_the_jobs_code(
    cli: Commands, server: Server, a_machine: Callable[..., Worker], state: str, fields: dict[str, Any], code: int
) -> None:
    a_machine()
    job_id = submitted(cli, timeout_s=5)
    server.until(lambda: Job.objects.get().state == "assigned")
    over(job_id, state, **fields)
    waited = cli("job", "wait", job_id)
    assert waited.exit_code == code
    words = {0: "succeeded", 3: "failed: exit code 3", 125: "failed: workdir missing",
             124: "timed out: longer than 5 s"}  # fmt: skip
    assert waited.stderr == f"{job_id} {words[code]}\n"


@pytest.mark.parametrize(("job", "code"), [
    ({"state": "succeeded", "exit_code": 0}, 0), ({"state": "failed", "exit_code": 3}, 3),
    ({"state": "failed", "exit_code": None, "signal": 9}, 137), ({"state": "failed", "exit_code": None}, 125),
    ({"state": "cancelled", "exit_code": None, "signal": 15}, 130), ({"state": "timed_out", "signal": 15}, 124),
])  # fmt: skip
def test_every_end_has_its_exit_code(job: dict[str, Any], code: int) -> None:
    assert exit_code_of(job) == code


def test_a_jobs_id_stays_one_part_of_the_path(cli: Commands) -> None:
    result = cli("job", "status", "../workers/w1")
    assert (result.exit_code, result.stderr) == (1, "Error: no job '../workers/w1'; ids look like j-7\n")


def test_input_that_is_no_text_is_said(cli: Commands) -> None:
    from click.testing import CliRunner

    from gpulayer_site.cli import main

    result = CliRunner().invoke(main, ["job", "submit", "-"], input=b"\xff\xfe", env=cli.environment)
    assert result.exit_code == 2
    assert "no UTF-8 text" in result.stderr
