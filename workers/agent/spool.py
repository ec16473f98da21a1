"""A task's output on the host's disk, in frames, until the server has all of it.

A frame is `stream (1 byte: o or e) · milliseconds since the epoch (8 bytes) · length (4 bytes) · bytes`.
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

HEADER = struct.Struct(">cQI")
FRAME_BYTES = 64 * 1024
"""The most output in one frame."""
CHUNK_BYTES = 1024 * 1024
"""The most that is sent at once."""
KEPT_BYTES = 256 * 1024 * 1024
"""The most that is kept of one task's output; a program that writes without end must not fill the disk."""


def frame(stream: bytes, text: bytes, milliseconds: int) -> bytes:
    """One frame."""
    return HEADER.pack(stream, milliseconds, len(text)) + text


def whole_frames(chunk: bytes) -> bytes:
    """The start of `chunk` that ends with a frame's end."""
    end = 0
    while end + HEADER.size <= len(chunk):
        length = HEADER.unpack_from(chunk, end)[2]
        if end + HEADER.size + length > len(chunk):
            break
        end += HEADER.size + length
    return chunk[:end]


class Spool:
    """Appended to by one thread, read by another. Closing it keeps the file."""

    def __init__(self, path: Path, *, kept: int = KEPT_BYTES) -> None:
        self._file = path.open("a+b", buffering=0)
        self._kept = kept
        self._full = False
        self._changed = threading.Condition()
        self._size = self._cut_torn_frame()
        self._ended = False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def size(self) -> int:
        """Bytes of whole frames."""
        with self._changed:
            return self._size

    def append(self, stream: bytes, text: bytes) -> None:
        """Add output as it comes. Past the limit it is dropped, once said so."""
        for start in range(0, len(text), FRAME_BYTES):
            self._append(stream, text[start : start + FRAME_BYTES])

    def say(self, text: str) -> None:
        """Add a line of the agent's own to the error stream; never dropped."""
        self._write(frame(b"e", f"gpulayer: {text}\n".encode(), _now()))

    def end(self) -> None:
        """There will be no more output."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_beyond(self, offset: int) -> bool:
        """Wait until there is more than `offset` bytes; false where the end comes first."""
        with self._changed:
            self._changed.wait_for(lambda: self._size > offset or self._ended)
            return self._size > offset

    def chunk(self, offset: int) -> bytes:
        """Whole frames from `offset` on, at most `CHUNK_BYTES`."""
        with Path(self._file.name).open("rb") as file:
            file.seek(offset)
            return whole_frames(file.read(min(CHUNK_BYTES, self.size - offset)))

    def _append(self, stream: bytes, text: bytes) -> None:
        if self._full:
            return
        if self.size + HEADER.size + len(text) > self._kept:
            self._full = True
            self.say(f"more than {self._kept:,} bytes of output: the rest is not kept")
            return
        self._write(frame(stream, text, _now()))

    def _write(self, data: bytes) -> None:
        with self._changed:
            try:
                view = memoryview(data)
                while view:
                    view = view[self._file.write(view) :]
            except OSError as error:  # a full disk must not stop a program that writes
                log.warning("output cannot be kept: %s", error)
                self._full = True
                self._file.truncate(self._size)
                return
            self._size += len(data)
            self._changed.notify_all()

    def _cut_torn_frame(self) -> int:
        """The length up to the last whole frame; what a crash tore behind it is cut off."""
        size = sum(_frame_lengths(Path(self._file.name)))
        self._file.truncate(size)
        return size


def _frame_lengths(path: Path) -> Iterator[int]:
    """The length of each whole frame, header included."""
    total = path.stat().st_size
    with path.open("rb") as file:
        while len(head := file.read(HEADER.size)) == HEADER.size:
            length = HEADER.unpack(head)[2]
            if file.tell() + length > total:
                return
            file.seek(length, 1)
            yield HEADER.size + length


def _now() -> int:
    return time.time_ns() // 1_000_000
