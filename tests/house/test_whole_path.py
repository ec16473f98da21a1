"""One command, one job: from the command line through server, pass and agent, and back with log and exit code."""

import json
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.house.installation import Installation, free_port, still_running

pytestmark = pytest.mark.slow


@pytest.fixture
def up(tmp_path):
    with Installation(tmp_path) as installation:
        installation.ready().wait_for("registered as")
        yield installation


def job(up, command, **more):
    path = up.folder / "job.json"
    path.write_text(json.dumps({"name": "hello", "target": "local", "command": command, **more}))
    return str(path)


def test_a_job_runs_here_and_its_log_and_exit_code_come_back(up):
    folder = up.folder / "work"
    folder.mkdir()
    (folder / "helper.py").write_text("GREETING = 'hello from two files'\n")
    (folder / "main.py").write_text("import sys, helper\nprint(helper.GREETING)\nsys.exit(3)\n")
    done = up.run("job", "submit", job(up, ["python3", "main.py"], workdir=str(folder)), "--watch")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "hello from two files" in done.stdout
    status = up.json("job", "status", "j-1")
    assert json.dumps(status).count('"exit_code": 3') == 1
    assert "agent" in {each["subject"] for each in up.json("doctor")}


def test_the_job_sees_none_of_the_servers_secrets(up):
    done = up.run("job", "submit", job(up, ["env"]), "--watch")
    assert done.returncode == 0, done.stdout + done.stderr
    secret = (up.data / "secret_key").read_text()
    token = json.loads((up.data / "cli.json").read_text())["token"]
    assert "PATH=" in done.stdout
    assert not [word for word in (secret, token, "SECRET_KEY", "gle_", "glw_", "BROKER") if word in done.stdout]


def test_the_agent_is_known_again_when_the_installation_moves_to_another_port(tmp_path):
    with Installation(tmp_path) as first:
        first.ready().wait_for("registered as")
    with Installation(tmp_path, port=free_port()) as second:
        second.ready().wait_for("registered as")
        assert "Error" not in second.text


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda up: up.process.send_signal(signal.SIGINT), id="Ctrl-C"),
        pytest.param(lambda up: up.process.kill(), id="SIGKILL"),
        pytest.param(lambda up: [each.kill() for each in up.processes()[:2]], id="SIGKILL of the supervisor too"),
    ],
)
def test_no_job_outlives_the_launcher(up, end):
    mark = up.folder / "pid"
    command = ["sh", "-c", f"echo $$ > {mark}; exec sleep 600"]
    assert up.run("job", "submit", job(up, command)).returncode == 0
    process = psutil.Process(_number_in(mark))
    everything = [*up.processes(), process]
    end(up)
    assert not still_running(everything, 30)


def _number_in(path: Path, seconds: float = 20) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
    pytest.fail(f"nothing wrote {path}")
