"""An installation that really runs, started as a person starts it, for as long as a measurement lasts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpulayer_site.client import People, find_config

START_SECONDS = 60.0
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.05
READY = "gpulayer is ready"


class NotReadyError(Exception):
    """It did not start; the message is what it printed."""


@contextmanager
def running(**environment: str) -> Iterator[People]:
    """`gpulayer up`, with its agent, in a folder of its own; the caller speaks to it as its administrator."""
    with (
        tempfile.TemporaryDirectory(prefix="gpulayer-bench-") as folder,
        (Path(folder) / "printed").open("w+") as printed,
    ):
        data = Path(folder) / "data"
        kept = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
        own = {"HOME": folder, "GPULAYER_DATA": str(data), "PORT": str(_free_port()), **environment}
        process = subprocess.Popen(
            [sys.executable, "-m", "gpulayer_site.cli", "up"],
            cwd=folder,
            env=kept | own,
            stdout=printed,
            stderr=printed,
        )
        try:
            _wait_for(process, Path(folder) / "printed")
            people = People(find_config({"GPULAYER_DATA": str(data)}))
            yield people
            people.close()
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(process: subprocess.Popen[bytes], printed: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while READY not in printed.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotReadyError(printed.read_text())
        time.sleep(LOOK_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
