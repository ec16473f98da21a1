"""A task's output on the host's disk, as its shim keeps it: read here until the server has all of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from workers.agent.frames import FRAME_BYTES, HEADER, frame, whole_frames
from workers.agent.shim.clock import wall_ms

CHUNK_BYTES = 1024 * 1024
"""The most that is sent at once."""
FULL_CHUNK_BYTES = CHUNK_BYTES - FRAME_BYTES - HEADER.size
"""A chunk that is at least so long may have more behind it."""
LOOK_SECONDS = 0.05


class Spool:
    """The log file of one task. Its shim appends whole frames; this only reads, until the shim is gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self._digested = 0

    @property
    def size(self) -> int:
        """Bytes that are there, a frame under way included."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def chunk(self, offset: int) -> bytes:
        """Whole frames from `offset` on, at most `CHUNK_BYTES`; empty where no frame is whole."""
        try:
            with self._path.open("rb") as file:
                file.seek(offset)
                return whole_frames(file.read(CHUNK_BYTES))
        except FileNotFoundError:
            return b""

    def next_chunk(self, offset: int, ended: Callable[[], bool], wait: Callable[[float], bool]) -> bytes:
        """Wait until there is a chunk behind `offset`; empty where the end comes first, or `wait` gives up."""
        while True:
            over = ended()  # asked first: what was written before the end is seen after it
            chunk = self.chunk(offset)
            if chunk or over or wait(LOOK_SECONDS):
                return chunk

    def digest(self, size: int) -> str:
        """SHA-256 of the first `size` bytes; cheap where it grows from call to call."""
        if size < self._digested:
            self._digest, self._digested = hashlib.sha256(), 0
        if size > self._digested:
            with self._path.open("rb") as file:
                file.seek(self._digested)
                while self._digested < size and (part := file.read(min(CHUNK_BYTES, size - self._digested))):
                    self._digest.update(part)
                    self._digested += len(part)
        return self._digest.hexdigest()

    def say(self, text: str) -> None:
        """Add a line of the agent's own to the error stream, once no shim writes any more.

        A frame that was torn by the shim's end is cut off first. Nothing is said where the disk is full.
        """
        try:
            with self._path.open("a+b", buffering=0) as file:
                end = _whole_size(self._path)
                file.truncate(end)
                if file.write(line := frame(b"e", f"gpulayer: {text}\n".encode(), wall_ms())) < len(line):
                    file.truncate(end)
        except OSError:
            return


def _whole_size(path: Path) -> int:
    """The length up to the last whole frame."""
    total, end = path.stat().st_size, 0
    with path.open("rb") as file:
        while len(head := file.read(HEADER.size)) == HEADER.size:
            length = HEADER.unpack(head)[2]
            if end + HEADER.size + length > total:
                break
            file.seek(length, os.SEEK_CUR)
            end += HEADER.size + length
    return end
