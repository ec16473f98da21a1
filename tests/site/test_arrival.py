"""Large bodies that trickle in leave the others their threads; a connection that died is not waited for."""

from __future__ import annotations

import socket
import threading
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import LimitedStream
from django.http import UnreadablePostError
from django.test import RequestFactory

from gpulayer_site.arrival import LARGE_BYTES, PatientInput, Room, SlowBodyError, cut_stalled, patiently
from gpulayer_site.problems import from_exception


class Never:
    """A body that does not come until it is let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def read(self, size: int = -1, /) -> bytes:
        self.asked.set()
        self.let_go.wait(30)
        return b"late"

    readline = read


def nothing() -> None:
    """Cut no connection."""


def test_a_body_that_is_there_is_read() -> None:
    body = PatientInput(BytesIO(b"one two\nthree"), Room(1), nothing)
    assert [body.read(3), body.readline(), body.read(), body.read()] == [b"one", b" two\n", b"three", b""]


def test_one_that_does_not_come_has_its_connection_cut() -> None:
    source = Never()
    assert PatientInput(source, Room(1), source.let_go.set, seconds=0.05).read() == b"late"


def test_only_some_are_waited_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulayer_site.arrival.ROOM_SECONDS", 0.05)
    room, slow = Room(1), Never()
    holder = threading.Thread(target=PatientInput(slow, room, nothing).read)
    holder.start()
    assert slow.asked.wait(30)
    with pytest.raises(SlowBodyError, match="too many"):
        PatientInput(BytesIO(b"quick"), room, nothing).read()
    slow.let_go.set()
    holder.join()
    assert PatientInput(BytesIO(b"quick"), room, nothing).read() == b"quick"


@pytest.mark.parametrize(("size", "waited"), [(0, False), (LARGE_BYTES - 1, False), (LARGE_BYTES, True)])
def test_only_large_bodies_need_a_place(size: int, waited: bool) -> None:
    seen: list[Any] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.append(environ["wsgi.input"])
        return []

    patiently(application, threads=16)({"wsgi.input": BytesIO(), "CONTENT_LENGTH": str(size)}, None)
    assert isinstance(seen[0], PatientInput) is waited


def test_a_caller_without_a_place_is_asked_to_come_again() -> None:
    room = Room(1)
    assert room.enter()
    request = RequestFactory().post("/", b"body", content_type="text/plain")
    request._stream = LimitedStream(PatientInput(Never(), room, nothing), 4)
    with pytest.raises(UnreadablePostError) as caught:
        request.body  # noqa: B018 - reading it is what is tried
    answer = from_exception(caught.value)
    assert answer is not None
    assert answer.status_code == 503


def test_a_connection_that_brings_nothing_is_cut_and_another_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent, speaking = (socket.create_connection(server.getsockname()) for _ in range(2))
        accepted = [server.accept()[0] for _ in range(2)]
        silent.sendall(b"x")
        deadline = time.monotonic() + 30
        while True:  # until one of them has been silent for long enough, and is found
            speaking.sendall(b"x")
            accepted[1].sendall(b"y")  # both ends are this process's
            cut_stalled("127.0.0.1", server.getsockname()[1], 0.3)
            silent.settimeout(0.05)
            try:
                assert silent.recv(1) == b""
                break
            except TimeoutError:
                assert time.monotonic() < deadline, "it was never cut"
        assert speaking.send(b"x") == 1
        assert speaking.recv(1) == b"y"
        for each in (silent, speaking, *accepted):
            each.close()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_looking_for_it_leaves_nothing_open(tmp_path: Path) -> None:
    with (tmp_path / "a file").open("w"), socket.create_server(("127.0.0.1", 0)):
        before = open_files()
        for _ in range(20):
            cut_stalled("127.0.0.1", 1, 60)
        assert open_files() <= before + 1


def test_connections_that_this_process_made_itself_are_left_alone() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as database,
        server.accept()[0] as other,
    ):
        cut_stalled("127.0.0.1", 1, 0)
        database.sendall(b"still there")
        assert other.recv(20) == b"still there"
