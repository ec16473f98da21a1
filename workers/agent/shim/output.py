"""A command's output on its way to the disk: in frames, without secrets, up to a limit, whatever the disk says."""

from __future__ import annotations

import os

from workers.agent.frames import FRAME_BYTES, HEADER, frame
from workers.agent.shim.clock import wall_ms
from workers.agent.shim.redaction import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STREAMS = (b"o", b"e")


class Output:
    """Appends to one file. A full disk or a reached limit drops output, and says so there; the command goes on."""

    def __init__(self, path: str, *, kept: int, secrets: Sequence[str] = ()) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size
        self._kept = kept
        self._full = False
        self._lost = 0
        self._redactors = {stream: Redactor(secrets) for stream in STREAMS}

    def append(self, stream: bytes, text: bytes) -> None:
        """Keep what the command wrote, as far as there is room."""
        self._keep(stream, self._redactors[stream].feed(text))

    def end(self) -> None:
        """Nothing more will come."""
        for stream, redactor in self._redactors.items():
            self._keep(stream, redactor.end())
        self._say_what_was_lost()
        os.close(self._file)

    def say(self, text: str) -> None:
        """A line of the agent's own in the error stream; the limit does not count for it."""
        self._write(frame(b"e", f"gpulayer: {text}\n".encode(), wall_ms()))

    def _keep(self, stream: bytes, text: bytes) -> None:
        for start in range(0, len(text), FRAME_BYTES):
            self._keep_frame(stream, text[start : start + FRAME_BYTES])

    def _keep_frame(self, stream: bytes, text: bytes) -> None:
        if self._full:
            return
        if self._size + HEADER.size + len(text) > self._kept:
            self._full = True
            self.say(f"the log is cut: more than {self._kept:,} bytes of output, the rest is not kept")
        elif not self._say_what_was_lost() or not self._write(frame(stream, text, wall_ms())):
            self._lost += len(text)

    def _say_what_was_lost(self) -> bool:
        """Whether there is room again, or always was."""
        if not self._lost:
            return True
        said = f"gpulayer: the log is cut: {self._lost:,} bytes of output are missing here, the disk was full\n"
        if not self._write(frame(b"e", said.encode(), wall_ms())):
            return False
        self._lost = 0
        return True

    def _write(self, data: bytes) -> bool:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            # A torn frame would make everything behind it unreadable.
            os.ftruncate(self._file, self._size)
            return False
        self._size += len(data)
        return True
