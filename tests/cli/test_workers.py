"""`gpulayer worker …`: the commands that answer, and those that go on until they are told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.utils import timezone

from scheduler.core.parsing import parse_worker_facts
from scheduler.models import Job, Task
from tests.cli.conftest import Commands
from tests.live import Server, secret_file
from workers.models import Credential, EnrolmentToken, Worker

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 60.0


class Running:
    """A command in a process of its own; what it says on standard error is read as it comes."""

    def __init__(self, cli: Commands, *words: object) -> None:
        around = {"PATH": os.environ["PATH"], **cli.environment}
        argv = [sys.executable, "-m", "gpulayer_site.cli", *(str(word) for word in words)]
        self.process = subprocess.Popen(argv, env=around, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line)
                self._news.notify_all()

    def says(self, text: str) -> Running:
        with self._news:
            assert self._news.wait_for(lambda: text in "".join(self.lines), PATIENCE), self.lines
        return self

    def end(self, number: int = signal.SIGINT) -> int:
        """Its exit code after this signal."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@pytest.fixture
def running(cli: Commands) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*words: object) -> Running:
        started.append(Running(cli, *words))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGTERM)
        assert each.process.stderr is not None
        each.process.stderr.close()


@pytest.fixture
def agent(server: Server, cli: Commands, running: Callable[..., Running]) -> Callable[..., Running]:
    """`worker start` as `here`, enrolled on the first start."""

    def start(*more: object) -> Running:
        file = secret_file(cli.folder / "token", server.enrolment_token())
        words = ["worker", "start", "--url", server.url, "--name", "here", "--origin", "local"]
        return running(*words, "--token-file", file, "--data", cli.folder / "agent", *more)

    return start


def test_workers_are_listed_with_state_devices_and_jobs(
    cli: Commands, server: Server, a_machine: Callable[..., Worker]
) -> None:
    a_machine("w1", gpus="2xA100")
    a_machine("w2", gpus="", intent="draining")
    a_machine("w3", gpus="", intent="drained")
    job_id = server.submit("sleep", "9", resources={"gpus": 1})
    server.until(lambda: Job.objects.get().state == "assigned")
    header, first, second, third = cli("worker", "list").stdout.splitlines()
    assert header.split() == ["WORKER", "ORIGIN", "STATE", "GPUS", "FREE", "JOBS"]
    assert "2 × A100-SXM4-80GB  1 of 2" in first
    assert first.endswith(job_id)
    assert ("online, draining" in second, "online, drained" in third) == (True, True)
    assert [each["name"] for each in cli.json("worker", "list", "-q", "w2")] == ["w2"]
    assert cli("worker", "list", "-q", "none").stdout == "no such workers\n"


def test_an_enrolment_token_is_made_and_shown_once(cli: Commands) -> None:
    result = cli("worker", "token", "--uses", 3, "--origin", "cloud", "--note", "gpu-07")
    assert result.exit_code == 0
    assert result.stdout.startswith("gle_")
    assert "usable 3 times until" in result.stderr
    row = EnrolmentToken.objects.get()
    assert (row.uses_left, row.origin, row.simulated, row.note) == (3, "cloud", False, "gpu-07")
    assert set(cli.json("worker", "token")) == {"token", "expires_at"}


def test_a_probe_prints_this_host_as_a_worker_document(without_server: Commands) -> None:
    result = without_server("worker", "probe", "--name", "here", "--label", "rack=r1", "--env", f"own={sys.executable}")
    assert result.exit_code == 0, result.output
    facts = parse_worker_facts(json.loads(result.stdout))
    assert (facts.id, facts.labels) == ("here", (("rack", "r1"),))
    assert [name for name, _ in facts.environments] == ["default", "own"]


@pytest.mark.parametrize(("words", "said"), [
    (["--label", "rack"], "'rack' is not KEY=VALUE"), (["--env", "=x"], "'=x' is not NAME=PYTHON"),
    (["--env", "a=/no/python"], "/no/python is no Python"), (["--origin", "moon"], "'moon' is not one of"),
])  # fmt: skip
def test_what_is_wrong_with_an_option_is_said(without_server: Commands, words: list[str], said: str) -> None:
    result = without_server("worker", "probe", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_agent_enrols_runs_a_job_and_ends_in_order(server: Server, agent: Callable[..., Running]) -> None:
    first = agent().says("registered as here")
    assert any("Jobs will run on" in line for line in first.lines)
    job = server.until_over(server.submit("sh", "-c", "exit 3"))
    assert (job.state, job.exit_code) == ("failed", 3)
    assert first.end() == 0
    assert Worker.objects.get(name="here").liveness == "suspect"


def test_a_later_start_needs_no_token_and_says_no_more_than_it_must(
    server: Server, cli: Commands, agent: Callable[..., Running], running: Callable[..., Running]
) -> None:
    agent().says("registered as here").end()
    words = ["worker", "start", "--url", server.url, "--name", "here", "--data", cli.folder / "agent"]
    again = running(*words).says("registered as here")
    assert not [line for line in again.lines if "Jobs will run on" in line]
    assert again.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(("number", "on_stop"), [(signal.SIGKILL, "end"), (signal.SIGTERM, "leave")])
def test_what_runs_goes_on_when_its_agent_is_killed_or_leaves_and_is_taken_up_by_the_next(
    server: Server, cli: Commands, agent: Callable[..., Running], number: signal.Signals, on_stop: str
) -> None:
    first = agent("--on-stop", on_stop).says("registered as here")
    job_id = server.submit("sh", "-c", f"until test -e {cli.folder}/end; do sleep 0.05; done; exit 3")
    pid = server.until_running(job_id).pid or 0
    first.end(number)
    assert lives(pid)
    agent().says("registered as here")
    (cli.folder / "end").touch()
    job = server.until_over(job_id)
    assert (job.state, job.exit_code, Task.objects.get(attempt__job=job).pid) == ("failed", 3, pid)
    assert not lives(pid)


def test_root_does_not_give_its_rights_to_jobs_by_accident(
    server: Server, cli: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    words = ["worker", "start", "--url", server.url, "--data", cli.folder / "agent"]
    result = cli(*words, GPULAYER_ALLOW_ROOT="0")
    assert result.exit_code == 2
    assert "as root, every job would have all rights on this host" in result.stderr
    assert "--run-as-submitter" in result.stderr


def test_only_root_can_run_jobs_as_others(server: Server, cli: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    result = cli("worker", "start", "--url", server.url, "--data", cli.folder / "agent", "--run-as-submitter")
    assert result.exit_code == 2
    assert "--run-as-submitter needs root" in result.stderr


@pytest.mark.parametrize(("words", "said"), [
    (["--limit-memory", "much"], "'much' is no size; right would be 8GB or 512MiB"),
    (["--limit-log", "0"], "'0' is no size"), (["--limit-processes", "1"], "16"), (["--on-stop", "wait"], "'end'"),
])  # fmt: skip
def test_a_limit_that_is_none_is_said(without_server: Commands, words: list[str], said: str) -> None:
    result = without_server("worker", "start", "--url", "http://127.0.0.1:9", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def lives(pid: int) -> bool:
    """Whether this process runs; one that nobody has buried does not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_two_agents_do_not_share_a_folder(agent: Callable[..., Running]) -> None:
    agent().says("registered as here")
    second = agent()
    assert second.process.wait(PATIENCE) == 2
    second.says("another agent")


@pytest.mark.parametrize(("token", "code", "said"), [
    ("gle_wrong", 3, "the server does not take this enrolment token"), ("glu_else", 2, "that is no enrolment token"),
    (None, 2, "cannot be read"),
])  # fmt: skip
def test_a_wrong_token_is_said(server: Server, cli: Commands, token: str | None, code: int, said: str) -> None:
    file = cli.folder / "token"
    if token:
        file.write_text(token)
    result = cli("worker", "start", "--url", server.url, "--token-file", file, "--data", cli.folder / "agent")
    assert result.exit_code == code
    assert said in result.stderr


def test_an_agent_without_a_terminal_does_not_ask_for_its_token(cli: Commands) -> None:
    result = cli("worker", "start", "--data", cli.folder / "agent")
    assert result.exit_code == 2
    assert "an enrolment token is needed: give --token-file" in result.stderr


def test_an_agent_does_not_send_its_token_unencrypted(cli: Commands) -> None:
    file = secret_file(cli.folder / "token", "gle_x")
    words = ["worker", "start", "--token-file", file, "--data", cli.folder / "agent"]
    result = cli(*words, "--url", "http://gpu.example")
    assert result.exit_code == 2
    assert "unencrypted" in result.stderr


def test_a_fleet_is_simulated_from_a_file(server: Server, cli: Commands, running: Callable[..., Running]) -> None:
    documents = [{"id": f"sim-{number}", "origin": "local", "cpu_cores": 4} for number in range(3)]
    file = cli.file("fleet.jsonl", "".join(json.dumps(each) + "\n" for each in documents))
    fleet = running("worker", "simulate", file).says("registered 3 simulated workers")
    job = server.until_over(server.submit("sleep", "0.1"))
    assert (job.state, job.simulated) == ("succeeded", True)
    assert fleet.end() == 0
    assert set(Worker.objects.values_list("liveness", flat=True)) == {"suspect"}


def test_a_demo_fleet_is_partly_busy_and_its_jobs_end_with_it(server: Server, running: Callable[..., Running]) -> None:
    fleet = running("worker", "simulate", "--demo", 20, "--seed", 1).says("Ctrl-C ends them")
    server.until(lambda: Job.objects.filter(state="running").exists())
    assert Worker.objects.filter(simulated=True).count() == 20
    assert all(name.startswith("demo-") for name in Job.objects.values_list("name", flat=True))
    assert fleet.end() == 0
    assert server.until(lambda: not Job.objects.exclude(state__in=["cancelled", "failed"]).exists())


def test_a_fleet_comes_back_at_once_however_it_ended(
    server: Server, cli: Commands, running: Callable[..., Running]
) -> None:
    for number in (signal.SIGKILL, signal.SIGINT):
        running("worker", "simulate", "--demo", 3).says("Ctrl-C ends them").end(number)
    Credential.objects.update(revoked_at=timezone.now())
    Worker.objects.update(liveness="suspect")
    running("worker", "simulate", "--demo", 3).says("Ctrl-C ends them")
    server.until_liveness(Worker.objects.filter(simulated=True)[0].name, "online")


@pytest.mark.parametrize(("text", "said"), [
    ("id: a\norigin: moon\ncpus: 3\n", "origin: found \"moon\"; expected one of local, remote, cloud"),
    ("- {id: a, origin: local}\n- {id: a, origin: local}\n", "a: two documents have this id"),
    ("[]\n", "no worker document"), ("a: [\n", "YAML"),
])  # fmt: skip
def test_every_mistake_of_a_fleets_documents_is_told(cli: Commands, text: str, said: str) -> None:
    result = cli("worker", "simulate", cli.file("fleet.yaml", text))
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Worker.objects.exists()


@pytest.mark.parametrize("words", [[], ["--demo", "3", "x.yaml"], ["--demo", "3", "--token-file", "t"]])
def test_a_fleet_comes_from_files_or_is_made_up(without_server: Commands, words: list[str]) -> None:
    result = without_server("worker", "simulate", *words)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize("words", [
    ["job"], ["job", "submit"], ["job", "list"], ["job", "status"], ["job", "logs"], ["job", "cancel"], ["job", "wait"],
    ["worker"], ["worker", "list"], ["worker", "start"], ["worker", "probe"], ["worker", "token"],
    ["worker", "simulate"],
])  # fmt: skip
def test_help_has_an_example_or_the_exit_codes(without_server: Commands, words: list[str]) -> None:
    shown: Any = without_server(*words, "--help")
    assert shown.exit_code == 0
    assert "Example" in shown.stdout or "Exit codes" in shown.stdout


def test_a_data_folder_has_a_name_of_its_own_for_each_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workers.cli_start import default_data

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_data("a/../b") == tmp_path / "gpulayer" / "agents" / "a_.._b"
