"""A signed-in client, and rows by the thousand."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from scheduler.models import Job
from tests import factories
from tests.factories import a_user, job_document, worker_document
from workers.models import Device, Label, Liveness, Worker, WorkerFacts


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are made now, as pages ask the real clock."""
    monkeypatch.setattr(factories, "NOW", timezone.now())


@pytest.fixture
def mira(db: None) -> User:
    return a_user("mira")


@pytest.fixture
def page(mira: User) -> Client:
    """A browser in which mira is signed in."""
    client = Client()
    client.force_login(mira)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    """A browser in which an operator is signed in."""
    client = Client()
    client.force_login(a_user("ada", staff=True))
    return client


def many_workers(number: int, *, gpus: str = "4xA100") -> None:
    """That many workers of one kind, in four statements."""
    now = timezone.now()
    workers = Worker.objects.bulk_create(
        Worker(name=f"w-{place:04d}", origin="local", state_since=now, created_at=now, heartbeat_seconds=3600)
        for place in range(number)
    )
    facts = WorkerFacts.objects.bulk_create(
        WorkerFacts(
            worker=worker, number=1, document=worker_document(worker.name, gpus=gpus), digest="d", created_at=now
        )
        for worker in workers
    )
    for worker, known in zip(workers, facts, strict=True):
        worker.facts, worker.liveness, worker.last_seen_at = known, Liveness.ONLINE, now
    Worker.objects.bulk_update(workers, ["facts", "liveness", "last_seen_at"], batch_size=200)
    Label.objects.bulk_create(Label(worker=worker, key="zone", value="a", source="agent") for worker in workers)
    Device.objects.bulk_create(
        Device(worker=worker, index=index, uuid=f"{worker.name}-{index}", model="NVIDIA A100-SXM4-80GB", healthy=True)
        for worker in workers
        for index in range(4)
    )


def many_jobs(number: int, owner: User) -> None:
    """That many queued jobs, undecided."""
    now = timezone.now()
    document = job_document()
    Job.objects.bulk_create(
        Job(job_id=f"j-{place}", owner=owner, name=f"job {place}", spec=document, submitted_at=now, state_since=now)
        for place in range(1, number + 1)
    )
