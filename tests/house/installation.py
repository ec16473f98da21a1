"""A real installation, started as a person starts it, in a data folder and a home of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from gpulayer_site.up.parts import answers_http
from tests.house.template import lay_out

START_SECONDS = 120


class Installation:
    """`gpulayer up` in a process of its own; everything that it prints is kept.

    `from_nothing`: its first start makes the database and the static files too, which others find made.
    """

    def __init__(
        self, folder: Path, *words: str, port: int | None = None, python: str = sys.executable,
        from_nothing: bool = False, **environment: str,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.python = python
        self._given = environment
        self.data = folder / "data"
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        elsewhere = {"GPULAYER_DATA", "DATABASE_URL"} & set(environment)
        if not from_nothing and python == sys.executable and not elsewhere:
            lay_out(self.data)
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.text = ""
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [python, "-m", "gpulayer_site.cli", "up", *words],
            cwd=folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Installation":
        return self

    def __exit__(self, *_: object) -> None:
        everything = self.processes()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for each in psutil.wait_procs(everything, timeout=5)[1]:
            each.kill()
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def environment(self) -> dict[str, str]:
        """What its processes, and commands that belong to it, are started with."""
        kept = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
        return kept | {"HOME": str(self.home), "GPULAYER_DATA": str(self.data), "PORT": str(self.port)} | self._given

    def wait_for(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """The first place where it has printed `pattern`; an error with all that it printed when it does not."""
        with self._changed:
            found = self._changed.wait_for(lambda: re.search(pattern, self.text) or self._ended(), seconds)
        match = re.search(pattern, self.text)
        assert match, f"no `{pattern}` ({'it ended' if found else 'too late'}) in:\n{self.text}"
        return match

    def ready(self) -> "Installation":
        """Wait until it says so."""
        self.wait_for("gpulayer is ready")
        return self

    def processes(self) -> list[psutil.Process]:
        """It and everything below it."""
        try:
            keeper = psutil.Process(self.process.pid)
            return [keeper, *keeper.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def part(self, word: str) -> psutil.Process:
        """The process directly below the supervisor whose command line has this word."""
        supervisor = self.processes()[1]
        return next(each for each in supervisor.children() if word in each.cmdline())

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A `gpulayer` command as the same user."""
        return subprocess.run(
            [self.python, "-m", "gpulayer_site.cli", *words],
            cwd=cwd or self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def json(self, *words: str) -> Any:
        """What a command says as JSON; an error with all that it printed where that is none."""
        done = self.run(*words, "--json")
        assert done.stdout, f"exit code {done.returncode}: {done.stderr}\n{self.text}"
        return json.loads(done.stdout)

    def answers(self, seconds: float = START_SECONDS) -> bool:
        """Whether the web server answers, before the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if answers_http(self.url):
                return True
        return False

    def _ended(self) -> bool:
        return self.process.poll() is not None and not self._reader.is_alive()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.text += line
                self._changed.notify_all()
        self.process.wait()
        with self._changed:
            self._changed.notify_all()


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def still_running(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended when the time is over."""
    return psutil.wait_procs(processes, timeout=seconds)[1]
