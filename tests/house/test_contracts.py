"""Each import contract is tried by breaking it: a contract that nothing can break protects nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
PACKAGES = ("gpulayer_site", "scheduler", "workers")

pytestmark = pytest.mark.slow

BREACHES = [
    pytest.param("core", "scheduler/core/quantities.py", "import django", id="Django in the core"),
    pytest.param("core", "scheduler/core/quantities.py", "import random", id="chance in the core"),
    pytest.param("core", "scheduler/core/policies.py", "import time", id="the clock in the core"),
    pytest.param("core", "scheduler/core/policies.py", "import logging", id="a log in the core"),
    pytest.param("core", "scheduler/core/fleet.py", "from workers import models", id="rows in the core"),
    pytest.param("core-alone", "scheduler/core/fleet.py", "from scheduler import models", id="records in the core"),
    pytest.param("core-chapters", "scheduler/core/spec.py", "from scheduler.core import schedule", id="a chapter back"),
    pytest.param("core-chapters", "scheduler/core/loose_end.py", "", id="a core file without a place"),
    pytest.param("layers", "scheduler/models/__init__.py", "from scheduler.services import jobs", id="models up"),
    pytest.param("layers", "scheduler/services/jobs.py", "from scheduler import tasks", id="services calling tasks"),
    pytest.param("layers", "scheduler/tasks.py", "from scheduler import agent_api", id="siblings calling each other"),
    pytest.param("layers", "scheduler/services/jobs.py", "from gpulayer_site import urls", id="calling the root"),
    pytest.param("workers", "workers/services/moves.py", "from scheduler import nudge", id="workers calling back"),
    pytest.param("agent", "workers/agent/folder.py", "from workers import models", id="rows in the agent"),
    pytest.param("shim", "workers/agent/shim/clock.py", "import subprocess", id="slow libraries in the shim"),
    pytest.param("command-line", "gpulayer_site/client.py", "import django.conf", id="Django in the command line"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contracts")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "migrations"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder, contract):
    command = [LINT, "--contract", contract, "--cache-dir", folder / "cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("contract", "path", "line"), BREACHES)
def test_it_notices(copy, contract, path, line):
    file = copy / path
    before = file.read_text() if file.exists() else None
    assert lint(copy, contract).returncode == 0
    file.write_text(f"{before or ''}\n{line}\n")
    try:
        done = lint(copy, contract)
    finally:
        file.write_text(before) if before is not None else file.unlink()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 broken" in done.stdout


def test_every_contract_is_tried_once():
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == {breach.values[0] for breach in BREACHES}
