"""What lies in a task's folder, and how it is written: whole or not at all, even on a full disk."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK = "shim.lock"
"""Held (flock) by the shim from its first instant to its end, and by nobody else but who looks whether it lives."""
CONTROL = "control"
INTENT = "intent.json"
"""Written before the command is started: from here on it may have run."""
STARTED = "started.json"
"""The command's process: `pid`, `start` (ticks since boot), `boot_id`."""
RESULT = "result.json"
"""How it ended."""
STUCK = "stuck.json"
"""The processes (`pids`) that do not die, while there are any."""
LOG = "log"
ERRORS = "shim.err"
"""What the shim itself prints, which is nothing unless it fails."""
RESULT_ROOM = 4096


def write_whole(path: str, document: dict[str, Any]) -> None:
    """Write JSON to `path`, for its owner only."""
    new = f"{path}.new"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, json.dumps(document).encode())
    finally:
        os.close(handle)
    os.replace(new, path)  # noqa: PTH105 (pathlib takes longer to import than the shim may take to start)


def read_json(path: str) -> dict[str, Any] | None:
    """The document at `path`; none where it is missing or torn."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            document = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


class Reserved:
    """Room on the disk for a document that has to be written when there may be none left."""

    def __init__(self, path: str, size: int = RESULT_ROOM) -> None:
        self._path = path
        self._size = size
        self._handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(self._handle, b" " * size)

    def write(self, document: dict[str, Any]) -> None:
        """Put the document where the room is, padded to it."""
        text = json.dumps(document).encode()
        os.pwrite(self._handle, text.ljust(self._size), 0)
        os.fsync(self._handle)
        os.close(self._handle)
        os.replace(f"{self._path}.new", self._path)  # noqa: PTH105


def boot_id() -> str:
    """The same from this host's start to its end."""
    with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
        return file.read().strip()
