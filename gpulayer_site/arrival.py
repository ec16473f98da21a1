"""Large bodies that come slowly: only some requests may wait for one at a time, and none waits for a dead connection.

Every request holds a thread of the server, also while its body trickles in. The rest of the threads is for everybody
else: heartbeats must not wait because somebody's network is slow.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

LARGE_BYTES = 64 * 1024
"""Smaller bodies come in one piece with their headers."""
STALLED_SECONDS = 25.0
"""A connection that brought nothing for so long is taken for dead; agents that wait for work are silent for 20."""
LOOK_SECONDS = 2.0
"""How often a body that does not come has one look for dead connections."""
ROOM_SECONDS = 0.5
"""How long a request waits for one of the places; most bodies are there at once."""
_LAST_DATA_RECEIVED = struct.Struct("@52xI")
"""Milliseconds, in Linux's `struct tcp_info`."""


class SlowBodyError(OSError):
    """Too many other bodies are being waited for: the caller may try again."""


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

    def leave(self) -> None:
        """Give the place to somebody else."""
        self._left_at = time.monotonic()
        self._places.release()


class PatientInput:
    """The body of one request; `cut` is called again and again while it does not come."""

    def __init__(self, source: Source, room: Room, cut: Callable[[], None], *, seconds: float = LOOK_SECONDS) -> None:
        self._source = source
        self._room = room
        self._cut = cut
        self._seconds = seconds

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes. Raises SlowBodyError."""
        return self._patiently(self._source.read, size)

    def readline(self, size: int = -1) -> bytes:
        """As `read`, at most up to the end of a line."""
        return self._patiently(self._source.readline, size)

    def _patiently(self, read: Callable[[int], bytes], size: int) -> bytes:
        if not self._room.enter():
            raise SlowBodyError("too many slow uploads at once")
        done = threading.Event()
        threading.Thread(target=self._watch, args=(done,), daemon=True, name="body").start()
        try:
            return read(size)
        finally:
            done.set()
            self._room.leave()

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(self._seconds):
            self._cut()


def cut_stalled(address: str, port: int, seconds: float) -> None:
    """Shut down the connections that came to `port` here from that address and brought nothing for so long.

    All others of this process stay: those to the database, above all.
    """
    for entry in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").is_dir() else ():
        try:
            number = int(entry.name)
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue  # a socket object of it would not come about, and leave its copy of the number open
            with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED.size)
                idle = _LAST_DATA_RECEIVED.unpack(info)[0] / 1000
                ends = connection.getsockname()[1], connection.getpeername()[0]
                if idle >= seconds and ends == (port, address):
                    connection.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError, struct.error):  # no TCP, no peer, or closed meanwhile
            continue


def patiently(
    application: Callable[[dict[str, Any], Any], Iterable[bytes]], *, threads: int
) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    """The WSGI application, with a quarter of its threads for large bodies that are waited for."""
    room = Room(max(1, threads // 4))

    def patient(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        length = str(environ.get("CONTENT_LENGTH") or "0")
        if not (length.isascii() and length.isdigit() and int(length[:18]) < LARGE_BYTES):
            address, came_to = str(environ.get("REMOTE_ADDR", "")), str(environ.get("SERVER_PORT") or "")
            port = int(came_to) if came_to.isdecimal() else 0
            body = PatientInput(environ["wsgi.input"], room, lambda: cut_stalled(address, port, STALLED_SECONDS))
            environ["wsgi.input"] = body
        return application(environ, start_response)

    return patient
