"""Distributed jobs on several real agents of this host, with real torchrun and gloo."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.faults.ledger import tagged
from tests.faults.rig import Agent, Rig
from tests.gangs.torch_environment import torch_python
from tests.house.conftest import Visitor, browserless

__all__ = ["browserless"]
pytestmark = pytest.mark.slow

MEMBER = str(Path(__file__).with_name("member.py"))
SLOWER = {
    "GPULAYER_HEARTBEAT_SECONDS": "2", "GPULAYER_LEASE_SECONDS": "30", "GPULAYER_LOST_AFTER_SECONDS": "30",
    "GPULAYER_CLAIM_SECONDS": "5",
}  # fmt: skip
"""Torch keeps both cores busy: nobody shall be suspected for that. A killed agent is believed in for six seconds."""


class Gangs:
    """Agents with torch, each with an address of its own and room for two tasks."""

    def __init__(self, rig: Rig, python: Path) -> None:
        self.rig = rig
        self.agents = {f"g{place}": self._add(f"g{place}", python, f"127.0.0.{place}") for place in (1, 2, 3, 4)}
        rig.until(lambda: rig.online() == len(self.agents), "all agents register")

    def _add(self, name: str, python: Path, address: str) -> Agent:
        words = ["--env", f"default={python}", "--advertise-address", address, "--max-tasks", "2"]
        return self.rig.add(name, 0, *words).start()

    def submit(self, folder: Path, *words: str, on: int, procs: int = 1, torchrun: bool = True, **more: Any) -> str:
        """A gang whose members write into the folder; its id."""
        folder.mkdir(exist_ok=True)
        launcher = {"launcher": "torchrun"} if torchrun else {}
        return self.rig.submit(
            name="gang", gpus=0, command=[*([] if torchrun else ["python"]), MEMBER, str(folder), *words],
            distributed={"num_workers": on, "procs_per_worker": procs, "comm_backend": "gloo", **launcher},
            runtime={"frameworks": {"torch": "==2.13.0"}}, env={"GLOO_SOCKET_IFNAME": "lo"}, **more,
        )  # fmt: skip

    def workers(self, job_id: str) -> list[str]:
        """Of its last attempt, by rank: what was planned."""
        return [row["name"] for row in self.tasks(job_id)]

    def tasks(self, job_id: str) -> list[Mapping[str, Any]]:
        """Of its last attempt, by rank."""
        return self.rig.database.rows(f"""
            SELECT t.rank, t.state, t.started_at, w.name, a.number, a.fence, a.state AS attempt, a.master_port
            FROM scheduler_task t JOIN scheduler_attempt a ON a.id = t.attempt_id
            JOIN scheduler_job j ON j.id = a.job_id JOIN workers_worker w ON w.id = t.worker_id
            WHERE j.job_id = '{job_id}' AND a.number = (
                SELECT max(b.number) FROM scheduler_attempt b WHERE b.job_id = j.id)
            ORDER BY t.rank""")

    def succeeds(self, job_id: str, folder: Path) -> list[dict[str, Any]]:
        """What each rank wrote, once the job has succeeded."""
        (job,) = self.rig.over(job_id, seconds=120)
        assert job["state"] == "succeeded", (job, self.rig._story())
        return said_in(folder)


def said_in(folder: Path) -> list[dict[str, Any]]:
    """What each rank wrote, by rank."""
    return sorted((json.loads(path.read_text()) for path in folder.glob("*.json")), key=lambda said: said["rank"])


@pytest.fixture(scope="module")
def gangs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    python = torch_python()
    with Rig(tmp_path_factory.mktemp("gangs"), agents=0, **SLOWER) as rig:
        yield Gangs(rig, python)
        rig.settle()
        rig.check()


def address_of(worker: str) -> str:
    return f"127.0.0.{worker.removeprefix('g')}"


@pytest.mark.parametrize(
    ("on", "procs", "torchrun"),
    [
        pytest.param(2, 1, True, id="two workers"),
        pytest.param(4, 2, True, id="four workers with two processes each"),
        pytest.param(2, 1, False, id="two workers without a launcher"),
    ],
)
def test_every_rank_takes_part_once_where_the_plan_has_it(
    gangs: Gangs, tmp_path: Path, on: int, procs: int, torchrun: bool
) -> None:
    job_id = gangs.submit(tmp_path, on=on, procs=procs, torchrun=torchrun)
    members, workers, world = gangs.succeeds(job_id, tmp_path), gangs.workers(job_id), on * procs
    assert len(set(workers)) == on
    assert [member["rank"] for member in members] == list(range(world))
    assert {(member["world"], member["total"]) for member in members} == {(world, 2**world - 1)}
    for member in members:
        node = member["rank"] // procs
        assert (member["NODE_RANK"], member["NNODES"], member["WORLD_SIZE"]) == (str(node), str(on), str(world))
        assert f"/agents/{workers[node]}/" in member["where"], "each rank runs on the worker that the plan gave it"
        assert member["MASTER_ADDR"] == address_of(workers[0])
    assert {member["MASTER_PORT"] for member in members} == {str(gangs.tasks(job_id)[0]["master_port"])}


def test_two_gangs_with_rank_0_on_one_worker_at_the_same_time(gangs: Gangs, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    pinned = {"placement": {"worker_ids": ["g1", "g2"]}}
    jobs = [
        gangs.submit(first, f"meet:{second}", on=2, **pinned),
        gangs.submit(second, f"meet:{first}", on=2, **pinned),
    ]
    said = [gangs.succeeds(job, folder) for job, folder in zip(jobs, (first, second), strict=True)]
    assert [gangs.workers(job)[0] for job in jobs] == [gangs.workers(jobs[0])[0]] * 2
    assert len({members[0]["MASTER_PORT"] for members in said}) == 2


def test_a_rank_that_fails_ends_the_attempt_and_is_named(
    gangs: Gangs, tmp_path: Path, browserless: Callable[[str], Visitor]
) -> None:
    job_id = gangs.submit(tmp_path, "fail:1", "stay", on=3)
    (job,) = gangs.rig.over(job_id, seconds=120)
    assert job["state"] == "failed"
    assert "rank 1" in job["failure_text"], job
    assert len(said_in(tmp_path)) == 3, "all had begun"
    gangs.rig.settle()
    tasks = gangs.tasks(job_id)
    assert [task["state"] for task in tasks] == ["cancelled", "failed", "cancelled"]
    assert tagged(tasks[0]["fence"], gangs.rig.folder) == []
    visitor = browserless(gangs.rig.up.url)
    assert visitor.sign_in(code=gangs.rig.up.wait_for(r"one-time code .*: (\S+)")[1]) == 302
    page = visitor.client.get(f"/jobs/{job_id}").text
    assert f"Rank 1 on {tasks[1]['name']}: it exited with " in page


def test_a_gang_never_starts_in_part(gangs: Gangs, tmp_path: Path) -> None:
    gone = gangs.agents["g4"]
    gone.kill()
    job_id = gangs.submit(tmp_path, on=2, placement={"worker_ids": ["g3", "g4"]})
    rows = gangs.rig.until(lambda: gangs.tasks(job_id), "it is placed while the server still believes in g4")
    gangs.rig.until(lambda: gangs.tasks(job_id)[0]["attempt"] == "revoked", "the attempt is taken back")
    assert gangs.rig.job(job_id)["state"] == "queued"
    assert [row["number"] for row in rows] == [1, 1]
    assert [row["started_at"] for row in gangs.tasks(job_id)] == [None, None]
    assert said_in(tmp_path) == []
    gone.start()
    assert len(gangs.succeeds(job_id, tmp_path)) == 2
    assert gangs.tasks(job_id)[0]["number"] > 1
