"""Callers of the agents' interface, with the short ways that the tests are written in."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.models import Attempt, DeviceHold, Job, JobState, Task
from scheduler.services.holding import draw_fences
from scheduler.services.jobs import submit_job
from scheduler.services.machines import move_job
from workers.models import Device, Worker

ROOT = "/api/agent/v1"


def a_document(name: str = "w1", *, gpus: int = 2, **facts: Any) -> dict[str, Any]:
    """A worker document."""
    devices = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": "NVIDIA A100", "kind": "cuda", "memory": "40GiB"}
        for index in range(gpus)
    ]
    return {
        "id": name, "origin": "local", "os": "linux", "arch": "x86_64", "cpu_cores": 16, "memory": "64GiB",
        "disk": "500GB", "python": "3.11.9", "devices": devices, **facts,
    }  # fmt: skip


def frames(*texts: str | bytes, stream: bytes = b"o", at_ms: int = 1_700_000_000_000) -> bytes:
    """Log frames, one per text."""
    datas = [text.encode() if isinstance(text, str) else text for text in texts]
    return b"".join(struct.pack(">cQI", stream, at_ms, len(data)) + data for data in datas)


@dataclass
class Caller:
    """Somebody with a secret. The epochs of the workers it registered are remembered."""

    secret: str
    client: Client = field(default_factory=Client)
    epochs: dict[str, int] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """One call; `body` goes as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.secret}"}
        return self.client.generic(method, f"{ROOT}/{path}", data, "application/json", headers=headers, **more)

    def post(self, path: str, body: Any) -> Any:
        return self.call("POST", path, body)

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def ok(self, path: str, body: Any) -> dict[str, Any]:
        """The answer of a POST that succeeds."""
        answer = self.post(path, body)
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    def enrol(self, *names: str, origin: str = "local", simulated: bool = False) -> Caller:
        """The caller that these workers become."""
        return Caller(self.ok("enroll", self.enrolment(*names, origin=origin, simulated=simulated))["credential"])

    @staticmethod
    def enrolment(*names: str, origin: str = "local", simulated: bool = False) -> dict[str, Any]:
        workers = [{"name": name, "origin": origin, "simulated": simulated} for name in names]
        return {"workers": workers, "machine": "machine-1", "protocol": [1], "agent_version": "0.1.0"}

    @staticmethod
    def registration(
        name: str, document: dict[str, Any] | None = None, *, boot: str = "boot-1", running: Any = ()
    ) -> dict[str, Any]:
        return {
            "worker": name, "boot_id": boot, "protocol": [1], "facts": document or a_document(name),
            "running": [{"task": task, "fence": fence} for task, fence in running],
        }  # fmt: skip

    def register(self, name: str, document: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        answer = self.ok("register", self.registration(name, document, **more))
        self.epochs[name] = answer["epoch"]
        return answer

    def register_fleet(self, names: Sequence[str]) -> dict[str, Any]:
        answer = self.ok("fleet/register", {"registrations": [self.registration(name) for name in names]})
        self.epochs.update({each["worker"]: each["epoch"] for each in answer["answers"]})
        return answer

    def beat(self, name: str = "w1", *, seq: int = 1, running: Any = (), **more: Any) -> dict[str, Any]:
        """The body of a heartbeat."""
        told = [{"task": task, "fence": fence} for task, fence in running]
        return {"worker": name, "epoch": self.epochs[name], "seq": seq, "running": told, **more}

    def put_log(self, placed: Placed, body: bytes, *, offset: int = 0, fence: int | None = None) -> Any:
        return self.client.put(
            f"{ROOT}/tasks/{placed.task}/log?offset={offset}&fence={placed.fence if fence is None else fence}",
            data=body,
            content_type="application/octet-stream",
            headers={"Authorization": f"Bearer {self.secret}"},
        )


@dataclass(frozen=True)
class Placed:
    """A task that waits for its agent."""

    job: Job
    task: int
    fence: int
    epoch: int

    @property
    def guard(self) -> dict[str, int]:
        """What every report carries."""
        return {"fence": self.fence, "epoch": self.epoch}

    def path(self, call: str) -> str:
        return f"tasks/{self.task}/{call}"

    def row(self) -> Task:
        return Task.objects.select_related("attempt__job", "worker").get(pk=self.task)


def place(agent: Caller, worker: str, *, owner: User, devices: tuple[int, ...] = (0,), **job: Any) -> Placed:
    """Put a new job on the worker, as a pass would."""
    now = timezone.now()
    document = {"name": "a job", "command": ["true"], "target": "local", "resources": {"gpus": len(devices)}, **job}
    row = submit_job(document=document, owner=owner, now=now)
    return assigned(agent, row, worker, devices=devices, now=now)


def assigned(agent: Caller, job: Job, worker: str, *, devices: tuple[int, ...] = (0,), now: datetime) -> Placed:
    """Assign a queued job to the worker, as a pass would."""
    machine = Worker.objects.get(name=worker)
    (fence,) = draw_fences(1)
    attempt = Attempt.objects.create(job=job, number=job.attempts.count() + 1, fence=fence, created_at=now)
    task = Task.objects.create(attempt=attempt, worker=machine, devices=list(devices), state_since=now)
    for device in Device.objects.filter(worker=machine, index__in=devices, present=True):
        DeviceHold.objects.create(task=task, device=device, worker=machine)
    assert move_job(job, JobState.ASSIGNED, frm=JobState.QUEUED, actor="scheduler", now=now)
    return Placed(job=job, task=task.pk, fence=fence, epoch=agent.epochs[worker])
