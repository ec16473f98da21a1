"""Whole counts on a real installation, too long for every day: `make soak`."""

import json
import random
import time

import httpx
import psutil
import pytest

from tests.house.installation import Installation

pytestmark = [pytest.mark.soak, pytest.mark.slow]

JOBS, KILLS = 100, 25
ENDED = {"succeeded", "failed", "cancelled", "timed_out"}


def test_every_job_runs_once_while_parts_are_killed(tmp_path):
    """The broker is killed with its messages, the worker in its passes, the web server in its answers."""
    chance = random.Random(20261130)
    ran = tmp_path / "ran"
    ran.touch()
    with Installation(tmp_path) as up:
        up.ready().wait_for("registered as")
        for number in range(JOBS):
            _submit(up, number, ran)
            if number % (JOBS // KILLS) == 0:
                _kill(up, chance.choice(["granian", "celery", "valkey"]))
        states = _wait_for_the_end(up)
    assert [state for state in states if state != "succeeded"] == []
    assert sorted(map(int, ran.read_text().split())) == list(range(JOBS))


def _submit(up, number, ran):
    """Submit under a key of its own, until the server has said that it has it: once more changes nothing."""
    token = json.loads((up.data / "cli.json").read_text())["token"]
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"soak-{number}"}
    command = ["sh", "-c", f"echo {number} >> {ran}"]
    job = {"name": f"soak-{number}", "target": "local", "command": command}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            answer = httpx.post(f"{up.url}/api/v1/jobs", json=job, headers=headers, timeout=10)
        except httpx.TransportError:
            continue
        assert answer.status_code in (200, 201), answer.text
        return
    pytest.fail(up.text[-3000:])


def _kill(up, word):
    for process in up.processes():
        try:
            if any(word in each for each in process.cmdline()[:3]):
                process.kill()
                return
        except psutil.NoSuchProcess:
            continue


def _wait_for_the_end(up, seconds=600):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done = up.run("job", "list", "--json", "--limit", str(JOBS))
        states = [each["state"] for each in json.loads(done.stdout)] if done.returncode == 0 else []
        if len(states) == JOBS and set(states) <= ENDED:
            return states
    pytest.fail(f"after {seconds} s: {states}\n{up.text[-3000:]}")
