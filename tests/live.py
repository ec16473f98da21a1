"""The real server over HTTP, for agents and commands under test, with passes made while one waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from gpulayer_site.accounts.tokens import create_token
from scheduler.models import Job, Task
from scheduler.services.jobs import submit_job
from scheduler.services.passes import run_pass
from workers.auth import create_enrolment_token
from workers.models import Worker

PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Server:
    """One server and its administrator."""

    url: str
    admin: User

    def user_token(self, user: User | None = None) -> str:
        """A token for the people's interface."""
        return create_token(user=user or self.admin, note="a test", now=timezone.now())[1]

    def enrolment_token(self, uses: int = 1, *, simulated: bool = False) -> str:
        """A token that lets workers in."""
        secret, _ = create_enrolment_token(
            uses=uses, origin="", simulated=simulated, note="a test", created_by=None, now=timezone.now()
        )
        return secret

    def submit(self, *command: str, **document: Any) -> str:
        """The id of a new job of the administrator's."""
        whole = {"name": "a job", "command": list(command), "target": "local", **document}
        return submit_job(document=whole, owner=self.admin, now=timezone.now()).job_id

    def until(self, condition: Callable[[], Any]) -> Any:
        """Make passes until this is true; the answer is what it says then."""
        deadline, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
        while True:
            run_pass(now=timezone.now, holder="test")
            if found := condition():
                return found
            assert time.monotonic() < deadline, "it never came about"
            pause.wait(LOOK_SECONDS)

    def until_over(self, job_id: str) -> Job:
        """The job once it has ended and nothing of it holds anything any more."""
        return self.until(lambda: self._over(job_id))

    def until_running(self, job_id: str) -> Task:
        """The job's task once its command runs."""
        return self.until(lambda: Task.objects.filter(attempt__job__job_id=job_id, state="running").first())

    def until_liveness(self, name: str, liveness: str) -> Worker:
        """The worker once the server sees it so."""
        return self.until(lambda: Worker.objects.filter(name=name, liveness=liveness).first())

    @staticmethod
    def _over(job_id: str) -> Job | None:
        job = Job.objects.get(job_id=job_id)
        held = Task.objects.filter(attempt__job=job, released_at=None).exists()
        return job if job.is_over and not held else None


@pytest.fixture
def server(live_server: LiveServer, settings: Settings, tmp_path: Path) -> Server:
    """The server, on a port and a data folder of its own."""
    settings.GPULAYER_DATA = tmp_path / "server"
    return Server(live_server.url, User.objects.create_superuser("admin"))


def secret_file(path: Path, secret: str) -> Path:
    """The secret in a file, as commands take it."""
    path.write_text(secret)
    return path
