"""Calls to the server: what is tried again, what is not, and where a token never goes."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.agent.wire import Script, problem
from workers.agent.transport import AddressError, RefusedError, Retry, Transport, UnreachableError, checked_url


class Waits:
    """Remembers the pauses instead of pausing."""

    def __init__(self, give_up_after: int = 99) -> None:
        self.seconds: list[float] = []
        self._left = give_up_after

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        self._left -= 1
        return self._left < 0


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 507])
def test_a_server_that_is_not_well_is_tried_again(script: Script, transport: Transport, status: int) -> None:
    script.once("GET here", (status, {}), (status, {}))
    script.say("GET here", {"well": True})
    waits = Waits()
    answer = transport.call("GET", "/api/v1/here", retry=Retry(waits, chance=lambda: 1.0))
    assert answer.json() == {"well": True}
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 416, 422, 426])
def test_a_refusal_is_not_tried_again(script: Script, transport: Transport, status: int) -> None:
    script.say("GET here", problem(status, "some_code", size=7))
    with pytest.raises(RefusedError) as refused:
        transport.call("GET", "/api/v1/here", retry=Retry(Waits()))
    assert (refused.value.status, refused.value.code, refused.value.body["size"]) == (status, "some_code", 7)
    assert len(script.made("GET here")) == 1


@pytest.mark.parametrize(("header", "seconds"), [
    ("7", 7), ("99999999", 600), ("soon", 0),
    pytest.param(format_datetime(datetime.now(UTC) + timedelta(days=1)), 600, id="tomorrow"),
    pytest.param(format_datetime(datetime.now(UTC)), 0, id="a moment ago"),
])  # fmt: skip
def test_the_server_may_say_how_long_to_wait(script: Script, transport: Transport, header: str, seconds: float) -> None:
    script.once("GET here", (503, {"headers": {"Retry-After": header}}))
    waits = Waits()
    transport.call("GET", "/api/v1/here", retry=Retry(waits, chance=lambda: 0.0))
    assert waits.seconds == [seconds]


def test_pauses_double_up_to_their_limit_and_are_spread(script: Script, transport: Transport) -> None:
    script.say("GET here", (503, {}))
    waits = Waits(give_up_after=8)
    with pytest.raises(UnreachableError, match="answered 503"):
        transport.call("GET", "/api/v1/here", retry=Retry(waits, chance=lambda: 0.5))
    assert waits.seconds == [0.25, 0.5, 1.0, 2.0, 4.0, 7.5, 7.5, 7.5, 7.5]


def test_a_server_that_is_away_cannot_be_reached() -> None:
    transport = Transport("http://127.0.0.1:9", "glw_x")
    with closing(transport), pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        transport.call("GET", "/")


def test_a_redirect_is_not_followed_with_the_token(script: Script, transport: Transport) -> None:
    script.say("GET here", (302, {"headers": {"Location": "https://elsewhere.example/"}}))
    with pytest.raises(RefusedError, match=r"points to https://elsewhere\.example/"):
        transport.call("GET", "/api/v1/here")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost", "https://gpu.example"]
)
def test_a_token_may_travel_over(url: str) -> None:
    assert checked_url(url + "/", allow_http=False) == url


@pytest.mark.parametrize("url", ["http://10.0.0.7:8000", "http://gpu.example", "http://127.0.0.1.example.org"])
def test_a_token_does_not_travel_unencrypted_to(url: str) -> None:
    with pytest.raises(AddressError, match="unencrypted"):
        checked_url(url, allow_http=False)
    assert checked_url(url, allow_http=True) == url


@pytest.mark.parametrize("url", ["gpu.example:8000", "ftp://gpu.example", "https://", ""])
def test_this_is_no_address(url: str) -> None:
    with pytest.raises(AddressError, match="no server address"):
        checked_url(url, allow_http=True)


def test_a_proxy_of_the_environment_does_not_see_calls_to_this_host(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    script.say("GET here", {"well": True})
    with closing(Transport(script.url, "glw_x")) as transport:
        assert transport.call("GET", "/api/v1/here").json() == {"well": True}


def test_the_token_goes_in_the_header_alone(script: Script, transport: Transport) -> None:
    transport.call("POST", "/api/v1/here", document={"a": 1})
    (call,) = script.made("POST here")
    assert call.headers["Authorization"] == "Bearer glw_secret"
    assert b"glw_secret" not in call.body
    assert not call.query


def test_something_else_that_answers_is_no_agent_protocol(script: Script, transport: Transport) -> None:
    from workers.agent.client import AgentClient

    answers: list[Any] = [[], "portal", {"epoch": "x"}]
    for answer in answers:
        script.say("POST register", answer)
        with pytest.raises(UnreachableError, match="not as this protocol has it"):
            AgentClient(transport).register("w1", "b", {}, [])
