"""A simulated fleet against the real server: kept alive, given work, cancelled, and told goodbye."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from django.utils import timezone

from scheduler.core.parsing import parse_job, parse_worker
from scheduler.models import Job, Task
from scheduler.services.holds import release_hold
from scheduler.services.jobs import cancel_job
from scheduler.services.logs import read_log
from tests.live import Server, server
from workers.agent.client import AgentClient
from workers.agent.demo import demo_fleet, demo_jobs
from workers.agent.simulated_tasks import duration_of
from workers.agent.simulator import FleetRefusedError, Simulator
from workers.agent.transport import Transport
from workers.models import Worker

__all__ = ["server"]
live = pytest.mark.django_db(transaction=True)
PATIENCE = 30.0


def document(name: str, **facts: Any) -> dict[str, Any]:
    devices = [{"index": 0, "uuid": f"GPU-{name}", "model": "Tesla T4", "kind": "cuda", "memory": "15360MiB"}]
    return {"id": name, "origin": "local", "os": "linux", "arch": "x86_64", "cpu_cores": 8, "devices": devices, **facts}


class Fleet:
    """A simulator in a thread."""

    def __init__(self, client: AgentClient, documents: list[dict[str, Any]]) -> None:
        self.simulator = Simulator(client, documents)
        self.progress: list[int] = []
        self.simulator.register(self.progress.append)
        self._thread = threading.Thread(target=self.simulator.run, args=[lambda: None], daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.simulator.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self.simulator.end()


@pytest.fixture
def client_of(server: Server) -> Iterator[Callable[..., AgentClient]]:
    """A fleet's client, enrolled for these documents."""
    with ExitStack() as stack:

        def enrol(documents: list[dict[str, Any]]) -> AgentClient:
            names = [{"name": each["id"], "origin": each["origin"], "simulated": True} for each in documents]
            with closing(Transport(server.url, server.enrolment_token(len(names), simulated=True))) as transport:
                credential = AgentClient(transport).enroll(names, "machine")
            return AgentClient(stack.enter_context(closing(Transport(server.url, credential))))

        yield enrol


@pytest.fixture
def a_fleet(client_of: Callable[..., AgentClient], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fleet]]:
    monkeypatch.setattr("workers.agent.simulator.POLL_SECONDS", 0.05)
    fleets: list[Fleet] = []

    def make(*documents: dict[str, Any]) -> Fleet:
        fleets.append(Fleet(client_of(list(documents)), list(documents)))
        return fleets[-1]

    yield make
    for each in fleets:
        each.stop()


@live
def test_a_task_lasts_as_its_command_sleeps_and_says_that_nothing_was_run(
    server: Server, a_fleet: Callable[..., Fleet]
) -> None:
    a_fleet(document("sim-1"))
    job = server.until_over(server.submit("sleep", "0.3", resources={"gpus": 1}))
    assert (job.state, job.exit_code, job.simulated) == ("succeeded", 0, True)
    task = Task.objects.get(attempt__job=job)
    assert task.duration_ms is not None
    assert task.duration_ms >= 300
    assert [record.text for record in read_log(task, offset=0).records] == ["simulated, nothing was run\n"]


@live
def test_cancelling_ends_a_task(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    a_fleet(document("sim-1"))
    job_id = server.submit("sleep", "600")
    server.until_running(job_id)
    cancel_job(job=Job.objects.get(job_id=job_id), actor="user:admin", now=timezone.now())
    assert server.until_over(job_id).state == "cancelled"


@live
def test_a_hold_lasts_until_it_is_over_and_has_succeeded_then(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    a_fleet(document("sim-1"))
    job_id = server.submit(command=None, hold_s=3600)
    server.until_running(job_id)
    release_hold(job=Job.objects.get(job_id=job_id), actor="user:admin", now=timezone.now())
    assert server.until_over(job_id).state == "succeeded"


@live
def test_a_task_beyond_its_time_limit_times_out(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    a_fleet(document("sim-1"))
    assert server.until_over(server.submit("sleep", "600", timeout_s=1)).state == "timed_out"


@live
def test_workers_are_what_their_documents_say(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    a_fleet(
        document("off", state="offline"), document("on"), document("sick", state="unhealthy"),
        document("ending", state=["online", "draining"], tasks=[{"job_id": "j-9", "devices": [0]}]),
    )  # fmt: skip
    rows = {row.name: (row.liveness, row.intent, row.health, row.simulated) for row in Worker.objects.all()}
    assert rows == {
        "on": ("online", "active", "ok", True), "off": ("suspect", "active", "ok", True),
        "sick": ("online", "active", "unhealthy", True), "ending": ("online", "draining", "ok", True),
    }  # fmt: skip


@live
def test_the_end_is_told_and_what_lasted_is_over(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(document("sim-1"))
    job_id = server.submit("sleep", "600")
    server.until_running(job_id)
    fleet.stop()
    server.until_liveness("sim-1", "suspect")
    assert server.until_over(job_id).state == "failed"


@live
def test_a_session_that_is_over_is_begun_anew(server: Server, a_fleet: Callable[..., Fleet]) -> None:
    fleet = a_fleet(document("sim-1"), document("sim-2"))
    Worker.objects.filter(name="sim-1").update(epoch=7)
    job_id = server.submit("sleep", "0.1", placement={"worker_ids": ["sim-1"]})
    assert server.until_over(job_id).state == "succeeded"
    assert fleet.simulator.online == 2


@live
def test_a_fleet_registers_in_batches_and_every_refusal_is_told(
    server: Server, client_of: Callable[..., AgentClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.simulator.REGISTERED_AT_ONCE", 2)
    documents = [document(f"sim-{number}") for number in range(5)]
    documents[1]["cpu_cores"] = "many"
    documents[4]["origin"] = "moon"
    client = client_of([each | {"origin": "local"} for each in documents])
    progress: list[int] = []
    with pytest.raises(FleetRefusedError) as refused:
        Simulator(client, documents).register(progress.append)
    assert progress == [2, 4, 5]
    lines = str(refused.value).splitlines()
    assert [line.split(":")[:2] for line in lines] == [["sim-1", " cpu_cores"], ["sim-4", " origin"]]


@pytest.mark.parametrize(("argv", "seconds"), [
    (["sleep", "5"], 5), (["sleep", "0.5"], 0.5), (["sleep", ".5"], 0.5), (["sleep", "2m"], 120),
    (["sh", "-c", "sleep 5"], 5), (["bash", "-c", "echo hi; sleep 1 && sleep 2h"], 7201), (["python", "train.py"], 2),
    (["sleep", "infinity"], 2), (["sleeper", "5"], 2),
])  # fmt: skip
def test_a_command_lasts_as_long_as_it_sleeps(argv: list[str], seconds: float) -> None:
    assert duration_of(argv) == seconds


@pytest.mark.parametrize("count", [1, 20, 300])
def test_a_demo_fleet_is_sound_and_the_same_for_the_same_seed(count: int) -> None:
    fleet = demo_fleet(count, 7)
    assert fleet == demo_fleet(count, 7)
    views = [parse_worker(each) for each in fleet]
    assert len({view.id for view in views}) == count
    assert {view.facts.origin for view in views} <= {"remote", "cloud"}
    jobs = [parse_job(each) for each in demo_jobs(fleet, 7)]
    assert demo_jobs(fleet, 7) == demo_jobs(fleet, 7)
    assert all(job.name.startswith("demo-") and len(job.placement.worker_ids) == 1 for job in jobs)


def test_a_demo_fleet_of_twenty_has_something_of_everything() -> None:
    fleet = [parse_worker(each) for each in demo_fleet(20, 0)]
    devices = [device for view in fleet for device in view.facts.devices or ()]
    assert len({device.model for device in devices if device.model}) >= 8
    assert any(device.model is None for device in devices)
    assert any(device.memory_bytes is None for device in devices)
    assert any(device.compute_capability is None for device in devices)
    assert any(not view.facts.devices for view in fleet)
    assert any(view.facts.environments[0][1].python is None for view in fleet)
    assert {view.facts.origin for view in fleet} == {"remote", "cloud"}
    assert [
        sum(kind) for kind in zip(*((not view.online, view.draining, view.unhealthy) for view in fleet), strict=True)
    ] == [2, 2, 1]
    assert demo_jobs(demo_fleet(20, 0), 0)


def test_another_seed_is_another_fleet_and_all_may_be_local() -> None:
    assert demo_fleet(20, 1) != demo_fleet(20, 2)
    assert {each["origin"] for each in demo_fleet(20, 1, "local")} == {"local"}
