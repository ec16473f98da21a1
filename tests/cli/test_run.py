"""`gpulayer run`: the folder becomes a job; uploaded once, followed, and ended as its command ended."""

from __future__ import annotations

import io
import shlex
import tarfile
from pathlib import Path

import pytest

from scheduler.models import Bundle, Job
from scheduler.services import bundles
from tests.cli.conftest import Commands

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, a package and some data, in which commands are called."""
    folder = tmp_path / "work"
    (folder / "pkg").mkdir(parents=True)
    (folder / "train.py").write_text("import pkg\n")
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "data.bin").write_bytes(b"x" * 2_500_000)
    monkeypatch.chdir(folder)
    return folder


def names_in(bundle: Bundle) -> list[str]:
    data = b"".join(bundles.read(bundle, offset=at) for at in range(0, bundle.size, bundles.PAGE_BYTES))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getnames()


def test_the_folder_is_uploaded_once_and_named_by_the_job(cli: Commands, work: Path) -> None:
    first = cli("run", "--detach", "--", "python", "train.py", "--lr", "1")
    assert first.exit_code == 0, first.output
    job = Job.objects.get()
    assert first.stdout == f"{job.job_id}\n"
    assert (job.name, job.spec["command"]) == ("train.py", ["python", "train.py", "--lr", "1"])
    assert job.spec["files"] == job.bundle.sha256
    assert names_in(job.bundle) == ["data.bin", "pkg/__init__.py", "train.py"]
    assert "uploading 3 files, 2.5 MB" in first.stderr
    second = cli("run", "--detach", "python", "train.py")
    assert "there already" in second.stderr
    assert Bundle.objects.get().jobs.count() == 2


def test_an_upload_that_was_cut_goes_on_where_it_was(cli: Commands, work: Path) -> None:
    cli("run", "--detach", "true")
    bundle = Bundle.objects.get()
    Job.objects.all().delete()
    Bundle.objects.update(stored=1024 * 1024, complete=False)
    assert cli("run", "--detach", "true").exit_code == 0
    again = Bundle.objects.get()
    assert (again.pk, again.complete, again.stored) == (bundle.pk, True, bundle.size)


def test_options_become_fields(cli: Commands, work: Path) -> None:
    words = shlex.split(
        "--gpus 2 --gpu-memory 24 --gpu-model T4 --gpu-model A100* --cpu-cores 1.5 --memory 32 --target remote "
        "--fallback cloud --name mine --env A=1 --env B=x=y --timeout 90min --retries 2 --environment train "
        "--python >=3.11 --require torch>=2.5 --label zone=a --worker w1 --compute-capability 8.0"
    )
    result = cli("run", "--no-files", "--detach", *words, "--secret", "MINE", "--", "true", MINE="canary")
    assert result.exit_code == 0, result.output
    assert Job.objects.get().spec == {
        "name": "mine", "command": ["true"], "target": "remote", "fallback_targets": ["cloud"],
        "env": {"A": "1", "B": "x=y"}, "secrets": {"MINE": "(not shown)"}, "timeout_s": 5400,
        "retries": {"max": 2, "on": ["lost"]}, "placement": {"worker_ids": ["w1"], "worker_labels": {"zone": "a"}},
        "resources": {
            "cpu_cores": 1.5, "memory_gb": 32, "gpus": 2, "gpu_models": ["T4", "A100*"], "gpu_memory_gb": 24,
            "compute_capability": ">=8.0",
        },
        "runtime": {"environment": "train", "python": ">=3.11", "frameworks": {"torch": ">=2.5"}},
    }  # fmt: skip


def test_a_spec_is_the_base_and_options_go_before_it(cli: Commands, work: Path) -> None:
    base = cli.file("base.yaml", "name: base\ntarget: cloud\nenv: {A: '1'}\nresources: {gpus: 4, cpu_cores: 2}\n")
    assert cli("run", "--no-files", "-d", "--spec", base, "--gpus", 1, "--env", "B=2", "true").exit_code == 0
    spec = Job.objects.get().spec
    assert (spec["name"], spec["target"], spec["env"]) == ("base", "cloud", {"A": "1", "B": "2"})
    assert spec["resources"] == {"gpus": 1, "cpu_cores": 2}


def test_a_folder_of_the_worker_needs_no_files(cli: Commands, work: Path) -> None:
    assert cli("run", "-d", "--workdir", "/data", "true").exit_code == 0
    assert not Bundle.objects.exists()
    assert Job.objects.get().spec["workdir"] == "/data"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param([], "a command is missing", id="no command"),
        pytest.param(["--env", "A", "true"], "NAME=VALUE", id="a variable without a value"),
        pytest.param(["--timeout", "soon", "true"], "90min", id="a time in words"),
        pytest.param(["--secret", "NOT_THERE", "true"], "no such variable", id="a secret that is not there"),
        pytest.param(["--spec", "none.yaml", "true"], "No such file", id="a spec that is not there"),
        pytest.param(["--gpu-memory", "8", "true"], "say gpus: 1", id="what the server refuses"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_submitted(cli: Commands, work: Path, words: list[str], said: str) -> None:
    result = cli("run", *words)
    assert result.exit_code == 2
    assert said in result.output
    assert not Job.objects.exists()


def test_a_folder_that_is_too_large_names_what_is_large(
    cli: Commands, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler.cli_run.LIMIT", 1_000_000)
    result = cli("run", "true")
    assert result.exit_code == 2
    assert "2.5 MB  data.bin" in result.output
    assert ".gpulayerignore" in result.output
