"""Rows in a dozen characters: users, workers with their devices, jobs. Everything not said is a sane default."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import Group, User

from scheduler.core.codec import canonical_bytes
from scheduler.models import Decision, DeviceHold, Job, JobState, Reservation, SchedulingPass, Task
from scheduler.services.jobs import submit_job
from scheduler.services.passes import run_pass
from workers.models import Device, Label, LabelSource, Liveness, Worker, WorkerFacts

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

MODELS = {
    "T4": {"model": "Tesla T4", "memory": "15360MiB", "compute_capability": "7.5"},
    "A100": {"model": "NVIDIA A100-SXM4-80GB", "memory": "81920MiB", "compute_capability": "8.0"},
    "H100": {"model": "NVIDIA H100 80GB HBM3", "memory": "81559MiB", "compute_capability": "9.0"},
    "?": {},
}


_ticks = count(1)


def later(**amount: float) -> datetime:
    """`NOW` and this much: `later(seconds=30)`."""
    return NOW + timedelta(**amount)


def a_user(name: str = "mira", *, staff: bool = False, teams: tuple[str, ...] = ()) -> User:
    """The user of this name, made when new."""
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": staff, "is_superuser": staff})
    user.groups.set([Group.objects.get_or_create(name=team)[0] for team in teams])
    return user


def worker_document(name: str = "w1", *, gpus: str = "1xA100", origin: str = "local", **facts: Any) -> dict[str, Any]:
    """A worker document: `gpus` reads `2xT4+1xA100`."""
    cards = [card for part in gpus.split("+") if part for card in _repeated(part)]
    devices = [
        {
            "index": index, "uuid": f"GPU-{name}-{index}", "kind": "cuda", "memory_kind": "dedicated", "mig": False,
            **MODELS[card],
        }
        for index, card in enumerate(cards)
    ]  # fmt: skip
    known = {
        "os": "linux", "arch": "x86_64", "cpu_cores": 16, "memory": "64GB", "disk": "500GB", "python": "3.11.9",
        "frameworks": {"torch": "2.6.0+cu124"}, "launchers": ["torchrun"], "comm_backends": ["nccl", "gloo"],
        "driver": "550.54.15", "advertise_address": "10.0.0.1",
    }  # fmt: skip
    return {"id": name, "origin": origin, "devices": devices, **known, **facts}


def a_worker(
    name: str = "w1", *, gpus: str = "1xA100", origin: str = "local", seen: datetime | None = None,
    labels: dict[str, str] | None = None, facts: dict[str, Any] | None = None, **fields: Any,
) -> Worker:  # fmt: skip
    """A worker that was just heard of, with its facts and devices."""
    worker = Worker.objects.create(
        name=name, origin=origin, state_since=NOW, created_at=NOW, last_seen_at=seen or NOW, heartbeat_seconds=10
    )
    document = worker_document(name, gpus=gpus, origin=origin, **(facts or {}))
    new_facts(worker, document)
    Device.objects.bulk_create(
        Device(worker=worker, index=device["index"], uuid=device["uuid"], model=device.get("model", ""), healthy=True)
        for device in document["devices"]
    )
    for key, value in (labels or {}).items():
        Label.objects.create(worker=worker, key=key, value=value, source=LabelSource.AGENT)
    return changed(worker, **{"liveness": Liveness.ONLINE, **fields})


def new_facts(worker: Worker, document: dict[str, Any]) -> WorkerFacts:
    """One more version of a worker's facts, the one in force from now on."""
    facts = WorkerFacts.objects.create(
        worker=worker, number=worker.facts_versions.count() + 1, document=document, created_at=NOW,
        digest=hashlib.sha256(canonical_bytes(document)).hexdigest(),
    )  # fmt: skip
    changed(worker, facts=facts)
    return facts


def changed(row: Any, **fields: Any) -> Any:
    """The row with these fields set, whatever its machine says."""
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(update_fields=list(fields))
    return row


def job_document(*, gpus: int = 1, name: str = "train", **fields: Any) -> dict[str, Any]:
    """A job document; `resources` adds to the GPUs."""
    resources = {"gpus": gpus, **fields.pop("resources", {})}
    return {"name": name, "command": ["true"], "target": "local", "resources": resources, **fields}


def a_job(*, owner: User | None = None, at: datetime | None = None, key: str | None = None, **fields: Any) -> Job:
    """A queued job, submitted through the front door; each a microsecond after the one before."""
    at = at or NOW + timedelta(microseconds=next(_ticks))
    return submit_job(document=job_document(**fields), owner=owner or a_user(), now=at, idempotency_key=key)


def a_pass(at: datetime | None = None) -> SchedulingPass | None:
    """One pass at this instant; `NOW` as it is set when it is called."""
    return run_pass(now=at or NOW, holder="test")


def a_reservation(worker: Worker, holder: str, *, devices: tuple[int, ...] = (), **fields: Any) -> Reservation:
    """A reservation in force, without an end unless told otherwise."""
    return Reservation.objects.create(
        **{"worker": worker, "holder": holder, "devices": list(devices), "starts_at": NOW, "created_at": NOW, **fields}
    )


def placed(job: Job) -> list[tuple[str, list[int]]]:
    """Where the job's active attempt stands: worker and devices of each task."""
    tasks = Task.objects.filter(attempt__job=job, attempt__active=True).order_by("rank")
    return [(task.worker.name, task.devices) for task in tasks.select_related("worker")]


def latest(job: Job) -> Decision:
    """The job's latest decision."""
    job.refresh_from_db()
    assert job.decision is not None
    return job.decision


def held() -> int:
    """How many devices are held."""
    return DeviceHold.objects.filter(released_at=None).count()


def states(*jobs: Job) -> list[str]:
    """The jobs' states now."""
    by_key = dict(Job.objects.filter(pk__in=[job.pk for job in jobs]).values_list("pk", "state"))
    return [JobState(by_key[job.pk]).value for job in jobs]


def _repeated(part: str) -> list[str]:
    count, _, name = part.rpartition("x")
    return [name] * int(count or 1)
