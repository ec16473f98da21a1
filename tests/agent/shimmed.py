"""A shim under test: a plan with defaults, and waiting for what it does."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

from workers.agent.frames import HEADER
from workers.agent.shim import files
from workers.agent.shim.sweep import TAG, members, signal_all
from workers.agent.shims import Shim
from workers.agent.spool import Spool

T = TypeVar("T")
PATIENCE = 30.0


def eventually(question: Callable[[], T], what: str = "it never came about") -> T:
    """The first answer that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < deadline, what
        time.sleep(0.005)
    return answer


def texts(chunk: bytes) -> list[tuple[bytes, bytes]]:
    """(stream, text) of each frame."""
    found, at = [], 0
    while at < len(chunk):
        stream, _, length = HEADER.unpack_from(chunk, at)
        found.append((stream, chunk[at + HEADER.size : at + HEADER.size + length]))
        at += HEADER.size + length
    return found


def sh(line: str) -> tuple[str, ...]:
    return "sh", "-c", line


def python(*lines: str) -> tuple[str, ...]:
    return sys.executable, "-c", "\n".join(lines)


class Shimmed:
    """One task under its shim."""

    def __init__(self, own: Path, argv: tuple[str, ...] | None, **more: Any) -> None:
        own.mkdir(parents=True, exist_ok=True)
        self.folder = own
        self.tag = f"tag.{own.name}.{os.urandom(4).hex()}"
        self.shim = Shim(own)
        env = {"PATH": os.environ.get("PATH", os.defpath), TAG: self.tag, **more.pop("env", {})}
        plan: dict[str, Any] = {
            "tag": self.tag, "argv": argv and list(argv), "env": env, "folder": str(own), "secrets": [],
            "timeout_s": None, "locks": {}, "limits": {}, "cgroup": None, "log_bytes": 2**30, "deadline": None,
            "warning_s": 0.0, "hold_until": None, "quarantine_s": 60.0, "user": None,
        }  # fmt: skip
        self.shim.start(plan | more)

    @property
    def output(self) -> bytes:
        return b"".join(text for _, text in self.frames)

    @property
    def frames(self) -> list[tuple[bytes, bytes]]:
        spool, kept = Spool(self.folder / files.LOG), b""
        while part := spool.chunk(len(kept)):
            kept += part
        return texts(kept)

    def after_it_says(self, word: bytes) -> Shimmed:
        """Wait until the command has written this."""
        eventually(lambda: word in self.output, f"it never said {word!r}: {self.shim.errors()}")
        return self

    def started(self) -> int:
        """The command's process, once it runs."""
        found = eventually(self.shim.started, f"it never started: {self.shim.result()} {self.shim.errors()}")
        return int(found["pid"])

    def over(self) -> dict[str, Any]:
        """How it ended; nothing of it is left then."""
        eventually(lambda: not self.shim.is_alive(), "its shim does not end")
        result = self.shim.result()
        assert result is not None, self.shim.errors()
        assert self.shim.errors() == ""
        assert members(self.tag) == []
        return dict(result)

    def process(self) -> psutil.Process:
        """The shim's own."""
        (found,) = [
            each
            for each in psutil.process_iter(["cmdline"])
            if str(self.folder) in (each.info["cmdline"] or ()) and "workers.agent.shim" in str(each.info["cmdline"])
        ]
        return found

    def end(self) -> None:
        """Whatever the test left of it."""
        self.shim.stop("the test is over", 0.0)
        eventually(lambda: self._swept() and not self.shim.is_alive())

    def _swept(self) -> bool:
        left = members(self.tag)
        signal_all(left, signal.SIGKILL)
        return not left
