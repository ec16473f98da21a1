"""Bodies that trickle in: they are waited for so long and no longer, and leave the others their threads."""

from __future__ import annotations

import threading
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import LimitedStream
from django.http import UnreadablePostError
from django.test import RequestFactory

from gpulayer_site.arrival import PatientInput, Room, SlowBodyError, patiently
from gpulayer_site.problems import from_exception


class Lines:
    """What every body can do."""

    def readline(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def read(self, size: int = -1, /) -> bytes:
        raise ConnectionResetError("gone")


class Never(Lines):
    """A body that does not come until it is let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def read(self, size: int = -1, /) -> bytes:
        self.asked.set()
        self.let_go.wait(30)
        return b"late"


def room(places: int = 1) -> Room:
    return Room(places)


def test_a_body_that_is_there_is_read() -> None:
    body = PatientInput(BytesIO(b"one two"), room())
    assert [body.read(3), body.read(), body.read()] == [b"one", b" two", b""]
    assert PatientInput(BytesIO(b"one\ntwo"), room()).readline() == b"one\n"


def test_one_that_does_not_come_is_given_up() -> None:
    source = Never()
    with pytest.raises(SlowBodyError, match="did not come within 0 s"):
        PatientInput(source, room(), seconds=0.05).read()
    source.let_go.set()


def test_the_time_is_for_the_whole_body() -> None:
    source = Never()
    source.let_go.set()
    body = PatientInput(source, room(), seconds=30)
    assert body.read() == b"late"
    source.let_go.clear()
    body._deadline = 0.0  # long ago
    with pytest.raises(SlowBodyError):
        body.read()
    source.let_go.set()


def test_only_some_are_waited_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulayer_site.arrival.ROOM_SECONDS", 0.05)
    places, slow = room(), Never()
    holder = threading.Thread(target=PatientInput(slow, places).read)
    holder.start()
    assert slow.asked.wait(10)
    with pytest.raises(SlowBodyError, match="too many"):
        PatientInput(BytesIO(b"quick"), places).read()
    slow.let_go.set()
    holder.join()
    assert PatientInput(BytesIO(b"quick"), places).read() == b"quick"


def test_what_the_server_raises_is_raised() -> None:
    with pytest.raises(ConnectionResetError):
        PatientInput(Lines(), room()).read()


def test_the_application_gets_such_a_body_and_a_caller_is_asked_to_come_again() -> None:
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        return [environ["wsgi.input"].read()]

    environ = {"wsgi.input": BytesIO(b"body")}
    assert list(patiently(application, threads=16)(environ, None)) == [b"body"]
    request = RequestFactory().post("/", b"body", content_type="text/plain")
    request._stream = LimitedStream(PatientInput(Never(), room(), seconds=0.01), 4)
    with pytest.raises(UnreadablePostError) as caught:
        request.body  # noqa: B018 - reading it is what is tried
    answer = from_exception(caught.value)
    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
