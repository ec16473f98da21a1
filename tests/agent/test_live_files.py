"""Files, outputs and holds, with a real agent against the real server."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from scheduler.models import Job, Task
from scheduler.packing import files_in, look_at, pack
from scheduler.services import bundles, holds, outputs
from scheduler.services.jobs import cancel_job
from tests.agent.test_live import Here, credential, start
from tests.live import Server, server

__all__ = ["credential", "server", "start"]
pytestmark = pytest.mark.django_db(transaction=True)

TRAIN = """
import os, pathlib, sys
from pkg import words
out = pathlib.Path(os.environ["GPULAYER_OUTPUT_DIR"])
(out / "model").mkdir()
(out / "model" / "w.bin").write_bytes(b"w" * 3_000_000)
(out / "report.txt").write_text(words.TEXT + open("data.txt").read())
(out / "link").symlink_to("/etc/passwd")
sys.exit(3)
"""


@pytest.fixture
def files(server: Server, tmp_path: Path) -> str:
    """The hash of an uploaded folder with a program, a package and some data."""
    folder = tmp_path / "work"
    (folder / "pkg").mkdir(parents=True)
    (folder / "train.py").write_text(TRAIN)
    (folder / "pkg" / "words.py").write_text("TEXT = 'hello '\n")
    (folder / "data.txt").write_text("world")
    out = io.BytesIO()
    found = look_at(folder, [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()])
    packed = pack(found.entries, out, files_in(folder))
    out.seek(0)
    whole = bundles.upload_file(out, owner=server.admin, sha256=packed.sha256, size=packed.size, now=timezone.now())
    assert whole.complete
    return packed.sha256


def until_complete(server: Server, job_id: str) -> Task:
    return server.until(lambda: Task.objects.filter(attempt__job__job_id=job_id, outputs_complete=True).first())


def test_a_folder_runs_and_what_it_leaves_comes_back(server: Server, start: Callable[[], Here], files: str) -> None:
    start()
    job = server.until_over(server.submit("python", "train.py", files=files))
    assert (job.state, job.exit_code) == ("failed", 3)
    task = until_complete(server, job.job_id)
    kept = {row.path: b"".join(outputs.parts(row)) for row in outputs.of_job(job)}
    assert kept == {"model/w.bin": b"w" * 3_000_000, "report.txt": b"hello world"}
    assert task.outputs_note == "link: a link"
    assert (Path(task.outputs_path) / "report.txt").read_text() == "hello world"
    assert Path(task.workdir, "train.py").exists()


def test_a_job_that_leaves_nothing_has_no_outputs(server: Server, start: Callable[[], Here]) -> None:
    start()
    job = server.until_over(server.submit("true"))
    assert not outputs.runs_of(job)


def test_files_that_would_leave_their_folder_are_the_jobs_fault(server: Server, start: Callable[[], Here]) -> None:
    data = b"no archive at all, however long" * 500
    sha256 = hashlib.sha256(data).hexdigest()
    bundles.upload_file(io.BytesIO(data), owner=server.admin, sha256=sha256, size=len(data), now=timezone.now())
    start()
    job = server.until_over(server.submit("true", files=sha256))
    assert (job.state, job.failure_code) == ("failed", "files_invalid")


def held(server: Server, **more: object) -> Job:
    """A hold that has begun."""
    document = {"command": None, "hold_s": 3600, "resources": {"gpus": 1}} | more
    job_id = server.submit(**document)  # type: ignore[arg-type]
    server.until_running(job_id)
    return Job.objects.select_related("owner").get(job_id=job_id)


def test_a_hold_keeps_its_devices_until_it_is_released(server: Server, start: Callable[[], Here]) -> None:
    start()
    job = held(server)
    assert job.hold_until == job.started_at + timedelta(hours=1)
    (way,) = holds.access(job)
    assert (way.worker, way.devices) == ("here", ("GPU-a",))
    holds.release_hold(job=job, actor="user:admin", now=timezone.now())
    over = server.until_over(job.job_id)
    assert (over.state, over.exit_code) == ("succeeded", 0)


def test_a_hold_ends_by_itself(server: Server, start: Callable[[], Here]) -> None:
    start()
    job = held(server)
    Job.objects.filter(pk=job.pk).update(hold_until=timezone.now() + timedelta(seconds=1))
    assert server.until_over(job.job_id).state == "succeeded"


def test_a_hold_that_is_cancelled_lets_go(server: Server, start: Callable[[], Here]) -> None:
    start()
    job = held(server)
    cancel_job(job=job, actor="user:admin", now=timezone.now())
    assert server.until_over(job.job_id).state == "succeeded"
