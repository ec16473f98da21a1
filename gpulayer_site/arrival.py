"""Bodies that come slowly: a request waits for its own so long and no longer, and only some may wait at once.

Every request holds a thread of the server, also while its body trickles in. The rest of the threads is for everybody
else: heartbeats must not wait because somebody's network is slow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

LONGEST_SECONDS = 20.0
"""A mebibyte in this time is a slow line; below that it is none."""
ROOM_SECONDS = 0.5
"""How long a request waits for one of the places; most bodies are there at once."""


class SlowBodyError(OSError):
    """The body did not come in time, or too many others are being waited for: the caller may try again."""


class Source(Protocol):
    """What a server gives to read a body from."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, waiting for them."""

    def readline(self, size: int = -1, /) -> bytes:
        """As `read`, at most up to the end of a line."""


class Room:
    """Places for bodies that are waited for. Whoever finds none waits a moment, but not where nobody gets on."""

    def __init__(self, places: int) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._left_at = time.monotonic()
        """When somebody last had their body."""

    def enter(self) -> bool:
        """Whether there was a place."""
        moving = time.monotonic() - self._left_at < 2 * ROOM_SECONDS
        return self._places.acquire(timeout=ROOM_SECONDS if moving else 0)

    def leave(self, *, arrived: bool) -> None:
        """Give the place to somebody else."""
        if arrived:
            self._left_at = time.monotonic()
        self._places.release()


class PatientInput:
    """The body of one request, read by a thread that may be left behind when it never comes."""

    def __init__(self, source: Source, room: Room, *, seconds: float = LONGEST_SECONDS) -> None:
        self._source = source
        self._room = room
        self._seconds = seconds
        self._deadline: float | None = None

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes. Raises SlowBodyError; the connection is then closed with the answer."""
        return self._patiently(self._source.read, size)

    def readline(self, size: int = -1) -> bytes:
        """As `read`, at most up to the end of a line."""
        return self._patiently(self._source.readline, size)

    def _patiently(self, read: Callable[[int], bytes], size: int) -> bytes:
        if not self._room.enter():
            raise SlowBodyError("too many slow uploads at once")
        reader = _Reader(read, size)
        try:
            if self._deadline is None:
                self._deadline = time.monotonic() + self._seconds
            reader.start()
            reader.join(max(0.0, self._deadline - time.monotonic()))
        finally:
            self._room.leave(arrived=not reader.is_alive())
        if reader.is_alive():
            raise SlowBodyError(f"the body did not come within {self._seconds:.0f} s")
        return reader.result()


class _Reader(threading.Thread):
    """One read, in a thread that keeps nobody alive."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        super().__init__(daemon=True, name="body")
        self._read = read
        self._size = size
        self._data = b""
        self._error: BaseException | None = None

    def run(self) -> None:
        """Read, and keep what came of it."""
        try:
            self._data = self._read(self._size)
        except BaseException as error:
            self._error = error

    def result(self) -> bytes:
        """What was read. Raises what the source raised."""
        if self._error is not None:
            raise self._error
        return self._data


def patiently(
    application: Callable[[dict[str, Any], Any], Iterable[bytes]], *, threads: int
) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    """The WSGI application, with a quarter of its threads for bodies that are waited for."""
    room = Room(max(1, threads // 4))

    def patient(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["wsgi.input"] = PatientInput(environ["wsgi.input"], room)
        return application(environ, start_response)

    return patient
