"""As a new user: the folder one works in runs on a worker at once, and what it leaves comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.installation import Installation

pytestmark = pytest.mark.slow

TRAIN = """
import os, pathlib, sys, time
from tools import table

rows = table.read(pathlib.Path("data/points.csv"))
for step in range(20):
    print(f"\\rstep {step + 1}/20", end="", file=sys.stderr, flush=True)
print(f"\\nmean {sum(rows) / len(rows):.1f}")
pathlib.Path(os.environ["GPULAYER_OUTPUT_DIR"], "model.txt").write_text("weights")
sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)
"""


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path, from_nothing=True) as installation:
        installation.ready().wait_for("registered as")
        yield installation


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A program, a package, a data file; and a cache that nobody wants."""
    folder = tmp_path / "my project"
    for path, text in {
        "train.py": TRAIN, "tools/__init__.py": "", "data/points.csv": "1\n2\n6\n", "tools/__pycache__/x.pyc": "x",
        "tools/table.py": "def read(path):\n    return [float(line) for line in path.read_text().split()]\n",
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_a_folder_with_a_package_and_data_runs_at_once(up: Installation, work: Path) -> None:
    done = up.run("run", "--", "python", "train.py", cwd=work)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mean 3.0" in done.stdout
    assert "uploading 4 files" in done.stderr
    assert "step 20/20" in done.stderr
    again = up.run("run", "--", "python", "train.py", "7", cwd=work)
    assert again.returncode == 7, again.stdout + again.stderr
    assert "there already" in again.stderr
    fetched = up.run("job", "outputs", "j-1", "--download", "out", cwd=work)
    assert fetched.returncode == 0, fetched.stderr
    assert (work / "out" / "model.txt").read_text() == "weights"


def test_devices_are_held_until_they_are_released(up: Installation) -> None:
    held = up.json("hold", "--for", "1h")
    assert held["state"] == "running"
    assert held["hold"]["access"][0]["export"].startswith("export CUDA_VISIBLE_DEVICES=")
    longer = up.json("hold", "extend", held["job_id"], "--by", "30min")
    assert longer["hold"]["until"] > held["hold"]["until"]
    assert up.run("hold", "release", held["job_id"]).returncode == 0
    assert up.run("job", "wait", held["job_id"]).returncode == 0
