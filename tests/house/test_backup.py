"""`gpulayer backup` while everything runs, and `gpulayer restore` elsewhere: jobs, logs and secrets are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.installation import Installation

pytestmark = pytest.mark.slow


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A `gpulayer` command for the installation in `folder`, of which nothing runs."""
    kept = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "gpulayer_site.cli", *words],
        env=kept | {"HOME": str(folder), "GPULAYER_DATA": str(folder / "data")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an installation with a job that has printed its secret's length, and with one that is to be cloned."""
    folder = tmp_path_factory.mktemp("before")
    with Installation(folder) as up:
        up.ready().wait_for("registered as")
        document = {
            "name": "kept", "command": ["sh", "-c", "echo ${#WORD}"], "target": "local", "secrets": {"WORD": "canary"},
        }  # fmt: skip
        (folder / "job.json").write_text(json.dumps(document))
        assert up.run("job", "submit", "job.json", "--watch").returncode == 0
        done = up.run("backup", str(folder / "backup.tar.gz"))
        assert done.returncode == 0, done.stderr
        assert "It holds the keys" in done.stdout
        again = up.run("backup", str(folder / "backup.tar.gz"))
        assert (again.returncode, "is there already" in again.stderr) == (1, True)
        running = up.run("restore", str(folder / "backup.tar.gz"), "--replace")
        assert (running.returncode, "stop it first" in running.stderr) == (1, True)
    return folder / "backup.tar.gz"


def test_an_empty_folder_becomes_the_same_installation(backup: Path, tmp_path: Path) -> None:
    done = command(tmp_path, "restore", str(backup))
    assert done.returncode == 0, done.stderr
    assert "is in" not in done.stdout, "nothing was there before"
    with Installation(tmp_path) as up:
        up.ready()
        assert up.run("job", "logs", "j-1").stdout.strip() == "6"
        (worker,) = up.json("worker", "list")
        # What its agent proved itself with lay in the other folder: an operator lets go of that one.
        up.wait_for("exists with another credential")
        assert up.run("worker", "revoke", worker["name"], "--yes").returncode == 0
        up.wait_for("registered as")
        again = up.json("job", "retry", "j-1")["job_id"]
        assert int(again.removeprefix("j-")) > 100_000
        assert up.run("job", "wait", again).returncode == 0
        assert up.run("job", "logs", again).stdout.strip() == "6", "its secret was opened with the restored key"


def test_an_installation_is_only_replaced_when_asked_and_then_kept(backup: Path, tmp_path: Path) -> None:
    assert command(tmp_path, "restore", str(backup)).returncode == 0
    refused = command(tmp_path, "restore", str(backup))
    assert refused.returncode == 1
    assert "there is an installation already" in refused.stderr
    assert command(tmp_path, "restore", str(backup), "--replace").returncode == 0
    (aside,) = (tmp_path / "data").glob("replaced-*")
    assert {"gpulayer.sqlite3", "secret_key", "logs"} <= {each.name for each in aside.iterdir()}


def test_a_restore_that_did_not_end_is_noticed_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "restore-unfinished").write_text("backup\n")
    with Installation(tmp_path, "--no-agent") as up:
        up.wait_for("did not come to its end")
        assert up.process.wait(30) == 1


def test_a_damaged_backup_changes_nothing(backup: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    data = backup.read_bytes()
    damaged.write_bytes(data[: len(data) // 2])
    done = command(tmp_path, "restore", str(damaged))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data" / "gpulayer.sqlite3").exists()
