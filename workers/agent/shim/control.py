"""What the agent tells a running shim, through a FIFO: it needs no room on the disk, and no process to be alive."""

from __future__ import annotations

import errno
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Inbox:
    """The shim's end, open for reading without waiting."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._rest = b""

    def read(self) -> list[dict[str, Any]]:
        """What has been said since the last time."""
        try:
            while part := os.read(self.handle, 65536):
                self._rest += part
        except BlockingIOError:
            pass
        *lines, self._rest = self._rest.split(b"\n")
        return [each for line in lines if (each := _parse(line)) is not None]


def tell(path: str, **message: object) -> bool:
    """Say it to the shim that reads at `path`; false where none does, or none has read for very long."""
    line = json.dumps(message).encode() + b"\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return False
        raise
    try:
        return os.write(handle, line) == len(line)
    except (BlockingIOError, BrokenPipeError):
        return False
    finally:
        os.close(handle)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
