"""An agent on this host against the real server: from a job that is submitted to its log and exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest
from django.utils import timezone

from scheduler.models import Job, Task
from scheduler.services.jobs import cancel_job
from scheduler.services.logs import read_log
from tests.agent.conftest import HERE
from tests.agent.nvml_double import H100, NvmlDouble
from tests.live import Server, server
from workers.agent.client import AgentClient
from workers.agent.credentials import Credentials
from workers.agent.folder import AgentFolder
from workers.agent.loop import Agent, CredentialRefusedError, OnStop
from workers.agent.nvml import Nvml
from workers.agent.preparing import Host
from workers.agent.probe import Identity, Probe
from workers.agent.reporting import Session
from workers.agent.transport import RefusedError, Transport
from workers.models import Credential, Worker

__all__ = ["server"]
pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 30.0


class Here:
    """An agent in a thread, with two devices that a double of NVML shows."""

    def __init__(self, server: Server, folder: AgentFolder, credential: str, stack: ExitStack, on_stop: OnStop) -> None:
        transport = stack.enter_context(closing(Transport(server.url, credential)))
        session = Session(AgentClient(transport))
        self.double = NvmlDouble(H100 | {"uuid": "GPU-a"}, H100 | {"uuid": "GPU-b"})
        nvml = Nvml(self.double, pci_devices=lambda: 2)
        folder.root.mkdir(exist_ok=True)
        probe = Probe(Identity(name="here", origin="local"), {"default": HERE}, folder.root, nvml)
        host = Host(session=session, folder=folder, environments={"default": HERE})
        self.agent = Agent(host, "here", probe, Credentials(folder, transport, "here"), on_stop=on_stop)
        self.failure: list[Exception] = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.agent.run()
        except (RefusedError, CredentialRefusedError) as error:
            self.failure.append(error)

    def stop(self) -> None:
        self.agent.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture
def credential(server: Server) -> str:
    with closing(Transport(server.url, server.enrolment_token())) as transport:
        asked = {"name": "here", "origin": "local", "simulated": False}
        return AgentClient(transport).enroll([asked], "machine")


@pytest.fixture
def start(
    server: Server, folder: AgentFolder, credential: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Here]]:
    monkeypatch.setattr("workers.agent.listener.POLL_SECONDS", 0.05)
    # A call that the server holds back would outlast the test, and find no database.
    monkeypatch.setattr("workers.agent.listener.WAIT_SECONDS", 0)
    with ExitStack() as stack:
        agents: list[Here] = []

        def make(on_stop: OnStop = "end") -> Here:
            agents.append(Here(server, folder, credential, stack, on_stop))
            server.until_liveness("here", "online")
            return agents[-1]

        yield make
        for each in agents:
            each.stop()


def log_of(job_id: str) -> dict[str, str]:
    """What the server has of each stream."""
    task = Task.objects.get(attempt__job__job_id=job_id)
    said: dict[str, str] = {}
    for record in read_log(task, offset=0).records:
        said[record.stream] = said.get(record.stream, "") + record.text
    return said


def test_a_host_is_registered_as_it_is(server: Server, start: Callable[[], Here]) -> None:
    start()
    worker = Worker.objects.get(name="here")
    assert worker.facts is not None
    assert [device["uuid"] for device in worker.facts.document["devices"]] == ["GPU-a", "GPU-b"]
    assert worker.epoch == 1


@pytest.mark.parametrize(("code", "state"), [(0, "succeeded"), (3, "failed")])
def test_a_job_runs_here_and_its_log_and_exit_code_come_back(
    server: Server, start: Callable[[], Here], tmp_path: Path, code: int, state: str
) -> None:
    (tmp_path / "helper.py").write_text("WORD = 'hello'\n")
    (tmp_path / "main.py").write_text(
        f"import sys, helper\nprint(helper.WORD)\nprint('careful', file=sys.stderr)\nsys.exit({code})\n"
    )
    start()
    job = server.until_over(server.submit("python", "main.py", workdir=str(tmp_path)))
    assert (job.state, job.exit_code) == (state, code)
    assert log_of(job.job_id) == {"stdout": "hello\n", "stderr": "careful\n"}


def test_a_job_sees_exactly_its_devices(server: Server, start: Callable[[], Here]) -> None:
    start()
    both = server.submit("sh", "-c", "echo [$CUDA_VISIBLE_DEVICES] $CUDA_DEVICE_ORDER", resources={"gpus": 2})
    none = server.submit("sh", "-c", "echo [$CUDA_VISIBLE_DEVICES] $CUDA_DEVICE_ORDER")
    for job in (both, none):
        server.until_over(job)
    assert log_of(both) == {"stdout": "[GPU-a,GPU-b] PCI_BUS_ID\n"}
    assert log_of(none) == {"stdout": "[] PCI_BUS_ID\n"}


def test_a_missing_workdir_is_said_with_host_and_path(server: Server, start: Callable[[], Here]) -> None:
    start()
    job = server.until_over(server.submit("true", workdir="/no/such/folder"))
    assert (job.state, job.failure_code) == ("failed", "workdir_missing")
    assert job.failure_text.endswith(": there is no folder /no/such/folder")


def test_a_job_that_takes_too_long_times_out(server: Server, start: Callable[[], Here]) -> None:
    start()
    assert server.until_over(server.submit("sleep", "600", timeout_s=1)).state == "timed_out"


def test_cancelling_ends_the_command(server: Server, start: Callable[[], Here]) -> None:
    start()
    job_id = server.submit("sleep", "600")
    pid = server.until_running(job_id).pid
    cancel_job(job=Job.objects.get(job_id=job_id), actor="user:admin", now=timezone.now())
    assert server.until_over(job_id).state == "cancelled"
    assert not psutil.pid_exists(pid or 0)


def test_an_agent_that_is_stopped_ends_its_tasks_and_says_goodbye(server: Server, start: Callable[[], Here]) -> None:
    here = start()
    job_id = server.submit("sleep", "600")
    server.until_running(job_id)
    here.stop()
    job = server.until_over(job_id)
    assert (job.state, Worker.objects.get(name="here").liveness) == ("failed", "suspect")
    assert (job.failure_code, job.failure_text) == ("agent_stopped", "its agent was stopped and ended it")
    assert log_of(job_id) == {"stderr": "gpulayer: stopped: the agent of this host was stopped\n"}


def test_an_agent_that_comes_back_goes_on_in_the_same_session(server: Server, start: Callable[[], Here]) -> None:
    start().stop()
    start()
    assert Worker.objects.get(name="here").epoch == 1
    assert server.until_over(server.submit("true")).state == "succeeded"


def test_a_session_that_is_over_is_begun_anew(server: Server, start: Callable[[], Here]) -> None:
    start()
    Worker.objects.filter(name="here").update(epoch=5)
    assert server.until_over(server.submit("true")).state == "succeeded"


def test_a_credential_that_was_revoked_ends_the_agent(server: Server, start: Callable[[], Here]) -> None:
    here = start()
    Credential.objects.update(revoked_at=timezone.now())
    here.thread.join(PATIENCE)
    assert isinstance(here.failure[0], CredentialRefusedError)
