"""A gang of two that was just placed, and workers that time passes for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from scheduler.models import Attempt, DeviceHold, Job, JobState, Task
from scheduler.services.holding import draw_fences
from scheduler.services.jobs import submit_job
from scheduler.services.machines import move_job
from scheduler.services.review import review
from scheduler.services.watch import Clocks
from tests.api.callers import Caller, Placed
from workers.models import Device, Worker

START: dict[str, Any] = {"pid": 4711, "workdir": "/tmp/job"}
WELL = {"exit_code": 0, "signal": None, "duration_ms": 1200, "log_size": 0, "start_error": None, "timed_out": False}
RERUN = {"max": 2, "on": ["lost"]}


def claim(agent: Caller, placed: Placed, **more: Any) -> dict[str, Any]:
    return agent.ok(placed.path("claim"), {**placed.guard, **more})


def start(agent: Caller, placed: Placed) -> None:
    agent.ok(placed.path("started"), {**placed.guard, **START})


def run(agent: Caller, placed: Placed, **more: Any) -> None:
    claim(agent, placed, **more)
    start(agent, placed)


def finish(agent: Caller, placed: Placed, **how: Any) -> Any:
    return agent.post(placed.path("finish"), {**placed.guard, **WELL, **how})


def release(agent: Caller, placed: Placed) -> Any:
    return agent.post(placed.path("release"), placed.guard)


def beat(agent: Caller, *held: Placed, worker: str = "w1", seq: int = 1, **more: Any) -> dict[str, Any]:
    """The answer to a heartbeat that lists these."""
    return agent.ok("heartbeat", agent.beat(worker, seq=seq, running=[(one.task, one.fence) for one in held], **more))


def states(placed: Placed) -> tuple[str, str, str]:
    """Of the task, its attempt and its job."""
    row = placed.row()
    return row.state, row.attempt.state, row.attempt.job.state


def held() -> int:
    """How many devices are held."""
    return DeviceHold.objects.filter(released_at=None).count()


def place_gang(agents: list[Caller], owner: User, **fields: Any) -> list[Placed]:
    """A distributed job with a rank on each of w1, w2, … as a pass would place it."""
    now = timezone.now()
    document = {
        "name": "a gang", "command": ["true"], "target": "local", "resources": {"gpus": 1},
        "distributed": {"num_workers": len(agents), "procs_per_worker": 1, "launcher": "torchrun"}, **fields,
    }  # fmt: skip
    job = submit_job(document=document, owner=owner, now=now)
    return assign_gang(agents, job)


def assign_gang(agents: list[Caller], job: Job) -> list[Placed]:
    now = timezone.now()
    (fence,) = draw_fences(1)
    attempt = Attempt.objects.create(job=job, number=job.attempts.count() + 1, fence=fence, created_at=now)
    placed = []
    for rank, agent in enumerate(agents):
        name = f"w{rank + 1}"
        worker = Worker.objects.get(name=name)
        task = Task.objects.create(attempt=attempt, rank=rank, worker=worker, devices=[0], state_since=now)
        DeviceHold.objects.create(task=task, device=Device.objects.get(worker=worker, index=0), worker=worker)
        placed.append(Placed(job=job, task=task.pk, fence=fence, epoch=agent.epochs[name]))
    assert move_job(job, JobState.ASSIGNED, frm=JobState.QUEUED, actor="scheduler", now=now)
    return placed


@dataclass
class Time:
    """The server's clocks as a test sets them: both go on together unless told otherwise."""

    now: datetime = field(default_factory=timezone.now)
    boottime_ms: int = 1_000_000
    boot_id: str = "boot"

    def clocks(self) -> Clocks:
        return Clocks(self.now, self.boottime_ms, self.boot_id)

    def look(self) -> None:
        """The server looks at everything that time decides."""
        review(self.clocks)

    def passes(self, seconds: float, *, every: float = 5.0) -> None:
        """So much time passes while the server is there, and looks regularly."""
        left = seconds
        while left > 0:
            part = min(every, left)
            left -= part
            self.now += timedelta(seconds=part)
            self.boottime_ms += round(part * 1000)
            self.look()

    def jumps(self, seconds: float) -> None:
        """The wall clock is set."""
        self.now += timedelta(seconds=seconds)

    def sleeps(self, seconds: float) -> None:
        """So much time passes while the server is away."""
        self.now += timedelta(seconds=seconds)
        self.boottime_ms += round(seconds * 1000)
