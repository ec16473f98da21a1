"""A second machine, added by the words of the README: over an address that is not loopback's, its token typed in."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.installation import Installation
from workers.agent.host import outgoing_address

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 60.0


class Terminal:
    """A command at a terminal of its own: what it shows, and a keyboard."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self._end, other = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, cwd=folder, start_new_session=True
        )
        os.close(other)
        self.shown = ""

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first place where it shows this."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < deadline, f"no `{pattern}` in:\n{self.shown}"
            if select.select([self._end], [], [], 0.1)[0]:
                self.shown += os.read(self._end, 65536).decode(errors="replace")
        return found

    def type(self, text: str) -> None:
        os.write(self._end, f"{text}\n".encode())

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_SECONDS)
        os.close(self._end)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path, HOST="0.0.0.0", GPULAYER_AGENT="no") as installation:
        yield installation.ready()


@pytest.fixture
def at_terminal(up: Installation, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """A command on the new machine, which has a home of its own and nothing of the server's."""
    home, started = tmp_path / "new machine", list[Terminal]()
    home.mkdir()

    def start(*words: str) -> Terminal:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        started.append(Terminal([up.python, "-m", "gpulayer_site.cli", *words], environment, home))
        return started[-1]

    yield start
    for each in started:
        each.close()


def test_a_second_machine_takes_jobs_once_its_token_is_typed_in(
    up: Installation, at_terminal: Callable[..., Terminal]
) -> None:
    address = outgoing_address() or ""
    url = f"http://{address if '.' in address else '127.0.0.1'}:{up.port}"
    made = up.run("worker", "token", "--note", "gpu-07")
    as_root = ["--allow-root"] if os.geteuid() == 0 else []
    agent = at_terminal("worker", "start", "--url", url, "--name", "gpu-07", "--allow-http", *as_root)
    agent.wait_for("Enrolment token")
    agent.type(made.stdout.split()[0])
    agent.wait_for("registered as gpu-07")
    assert made.stdout.split()[0] not in agent.shown, "what is typed in is not shown"
    job = up.folder / "job.json"
    job.write_text(
        json.dumps({"name": "hello", "target": "remote", "command": ["python3", "-c", "print('from afar')"]})
    )
    done = up.run("job", "submit", str(job), "--watch")
    assert (done.returncode, "from afar" in done.stdout) == (0, True), done.stdout + done.stderr
