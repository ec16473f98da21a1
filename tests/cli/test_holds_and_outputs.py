"""`gpulayer hold` and `gpulayer job outputs` against the real server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from scheduler.models import Job, OutputFile, Task
from scheduler.services import holds
from scheduler.services.machines import move_job, move_task
from scheduler.services.passes import run_pass
from scheduler.storage import Key, Kind, storage
from tests.cli.conftest import Commands
from tests.live import Server
from workers.models import Worker

pytestmark = pytest.mark.django_db(transaction=True)
Machine = Callable[..., Worker]


def begun(job_id: str) -> None:
    """The hold has begun, as if its worker had said so."""
    now = timezone.now()
    run_pass(now=now, holder="test")
    task, job = Task.objects.get(attempt__job__job_id=job_id), Job.objects.get(job_id=job_id)
    assert move_task(task, "claimed", frm="assigned", actor="test", now=now, claimed_at=now)
    assert move_task(task, "running", frm="claimed", actor="test", now=now, started_at=now)
    assert move_job(job, "running", frm="assigned", actor="test", now=now, started_at=now)
    holds.begin(job, now=now)


def test_devices_are_asked_for_like_those_of_any_job(cli: Commands) -> None:
    result = cli("hold", "--gpus", 2, "--for", "4h", "--target", "remote", "--require", "torch", "--detach")
    assert result.exit_code == 0, result.output
    job = Job.objects.get()
    assert result.stdout == f"{job.job_id}\n"
    assert job.spec == {
        "name": "hold", "target": "remote", "hold_s": 14_400, "resources": {"gpus": 2},
        "runtime": {"frameworks": {"torch": ""}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--gpus", "1"], "--for is missing", id="no time"),
        pytest.param(["--for", "soon"], "90min", id="a time in words"),
        pytest.param(["--for", "8d"], "from 60 to 604,800", id="too long"),
    ],
)
def test_how_long_has_to_be_said(cli: Commands, words: list[str], said: str) -> None:
    result = cli("hold", *words)
    assert result.exit_code == 2
    assert said in result.output
    assert not Job.objects.exists()


def test_a_hold_is_extended_and_released(cli: Commands, a_machine: Machine) -> None:
    a_machine("w1", gpus="2xA100")
    job_id = cli("hold", "--gpus", 1, "--for", "1h", "--detach").stdout.strip()
    begun(job_id)
    before = Job.objects.get().hold_until
    longer = cli("hold", "extend", job_id, "--by", "2h")
    assert longer.exit_code == 0
    assert "is yours until" in longer.output
    assert (Job.objects.get().hold_until - before).total_seconds() == 7200
    too_long = cli("hold", "extend", job_id, "--by", "2d")
    assert (too_long.exit_code, "24 hours past its first end" in too_long.output) == (1, True)
    assert cli("hold", "release", job_id).stdout == f"{job_id} released\n"
    assert Job.objects.get().hold_until <= timezone.now()


def test_one_that_waits_is_cancelled_by_its_release(cli: Commands) -> None:
    job_id = cli("hold", "--gpus", 1, "--for", "1h", "--detach").stdout.strip()
    assert cli("hold", "release", job_id).stdout == f"{job_id} cancelled\n"


def test_a_job_with_a_command_is_no_hold(cli: Commands, server: Server) -> None:
    job_id = server.submit("true")
    result = cli("hold", "extend", job_id, "--by", "1h")
    assert (result.exit_code, "runs a command" in result.output) == (1, True)


@pytest.fixture
def left(cli: Commands, server: Server, a_machine: Machine) -> Callable[..., OutputFile]:
    """Something that j-1 has left."""
    a_machine("w1")
    server.submit("true")
    run_pass(now=timezone.now(), holder="test")
    Task.objects.update(outputs_path="/data/outputs", outputs_complete=True)

    def make(path: str, data: bytes) -> OutputFile:
        row = OutputFile.objects.create(
            task=Task.objects.get(), path=path, size=len(data), stored=len(data), created_at=timezone.now(),
            sha256=hashlib.sha256(data).hexdigest(),
        )  # fmt: skip
        with storage().writing(Key(Kind.OUTPUTS, row.pk)) as blob:
            blob.write(0, data)
        return row

    return make


def the_job() -> str:
    return Job.objects.get().job_id


def test_outputs_are_listed_and_fetched(
    cli: Commands, left: Callable[..., OutputFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler.cli_outputs.PART", 1000)
    left("model/w.bin", b"w" * 2500)
    left("empty", b"")
    listed = cli("job", "outputs", the_job())
    assert "model/w.bin  2.5 kB" in listed.stdout
    assert "on w1 (attempt 1, rank 0): /data/outputs" in listed.stdout
    fetched = cli("job", "outputs", the_job(), "--download", tmp_path / "out")
    assert fetched.exit_code == 0, fetched.output
    assert (tmp_path / "out" / "model" / "w.bin").read_bytes() == b"w" * 2500
    assert (tmp_path / "out" / "empty").read_bytes() == b""
    assert {path.name for path in (tmp_path / "out" / "model").iterdir()} == {"w.bin"}


def test_a_fetch_that_was_stopped_goes_on(cli: Commands, left: Callable[..., OutputFile], tmp_path: Path) -> None:
    row = left("w.bin", b"0123456789")
    part = tmp_path / f".w.bin.{row.sha256[:12]}.part"
    part.write_bytes(b"01234")
    assert cli("job", "outputs", the_job(), "--download", tmp_path).exit_code == 0
    assert (tmp_path / "w.bin").read_bytes() == b"0123456789"
    assert not part.exists()


def test_what_arrives_damaged_is_not_kept(cli: Commands, left: Callable[..., OutputFile], tmp_path: Path) -> None:
    row = left("w.bin", b"0123456789")
    (tmp_path / f".w.bin.{row.sha256[:12]}.part").write_bytes(b"xxxxx")
    result = cli("job", "outputs", the_job(), "--download", tmp_path)
    assert (result.exit_code, "damaged" in result.output) == (1, True)
    assert list(tmp_path.glob("*w.bin*")) == []


@pytest.mark.parametrize("path", ["../evil", "a/../../evil", "/etc/evil"])
def test_a_server_that_names_a_path_elsewhere_is_not_followed(
    cli: Commands, left: Callable[..., OutputFile], tmp_path: Path, path: str
) -> None:
    left(path, b"x")
    result = cli("job", "outputs", the_job(), "--download", tmp_path / "out")
    assert (result.exit_code, "no path below a folder" in result.output) == (1, True)


def test_nothing_is_written_through_a_link(cli: Commands, left: Callable[..., OutputFile], tmp_path: Path) -> None:
    left("a/b", b"x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "elsewhere")
    result = cli("job", "outputs", the_job(), "--download", tmp_path / "out")
    assert (result.exit_code, list((tmp_path / "elsewhere").iterdir())) == (1, [])


def test_a_job_that_left_nothing_says_so(cli: Commands, server: Server) -> None:
    job_id = server.submit("true")
    assert cli("job", "outputs", job_id).stdout == f"{job_id} has left nothing in its output folder\n"
