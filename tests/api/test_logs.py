"""Log files: appended by compare-and-set, whole frames only, and never anything but our own regular file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from scheduler.models import Task
from scheduler.services.log_frames import MAX_CHUNK
from scheduler.services.logs import read_bytes, read_log
from tests.api.callers import Caller, Placed, frames

pytestmark = pytest.mark.django_db

ONE, TWO = frames("one\n"), frames("two\n")


@pytest.fixture
def running(agent: Caller, placed: Placed) -> Placed:
    agent.ok(placed.path("claim"), placed.guard)
    return placed


def log_file(placed: Placed, settings: Settings) -> Path:
    return Path(settings.GPULAYER_DATA) / "logs" / str(placed.task // 1000) / f"{placed.task}.log"


def text_of(placed: Placed) -> str:
    return b"".join(read_bytes(Task.objects.get(pk=placed.task), offset=0)).decode()


def test_chunks_follow_one_another(agent: Caller, running: Placed) -> None:
    assert agent.put_log(running, ONE).json() == {"size": 17}
    assert agent.put_log(running, TWO, offset=17).json() == {"size": 34}
    assert text_of(running) == "one\ntwo\n"


def test_the_same_chunk_again_changes_nothing(agent: Caller, running: Placed) -> None:
    agent.put_log(running, ONE)
    assert agent.put_log(running, ONE).json() == {"size": 17}
    assert agent.put_log(running, ONE + TWO).json() == {"size": 34}
    assert text_of(running) == "one\ntwo\n"


def test_other_bytes_at_a_known_place_are_refused(agent: Caller, running: Placed) -> None:
    agent.put_log(running, ONE)
    answer = agent.put_log(running, TWO)
    assert (answer.status_code, answer.json()["code"], answer.json()["size"]) == (409, "log_differs", 17)
    assert text_of(running) == "one\n"


def test_a_gap_is_refused_with_the_true_size(agent: Caller, running: Placed) -> None:
    agent.put_log(running, ONE)
    answer = agent.put_log(running, TWO, offset=40)
    assert (answer.status_code, answer.json()["code"], answer.json()["size"]) == (416, "log_gap", 17)


def test_bytes_of_a_call_that_died_are_written_over(agent: Caller, running: Placed, settings: Settings) -> None:
    agent.put_log(running, ONE)
    with log_file(running, settings).open("ab") as file:
        file.write(b"half of a frame that was never accounted for")
    assert text_of(running) == "one\n"
    assert agent.put_log(running, TWO, offset=17).json() == {"size": 34}
    assert text_of(running) == "one\ntwo\n"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param(ONE[:-1], 422, "log_malformed", id="half a frame"),
        pytest.param(ONE + b"o", 422, "log_malformed", id="half a header"),
        pytest.param(b"x" + ONE[1:], 422, "log_malformed", id="an unknown stream"),
        pytest.param(frames("x", at_ms=2**63), 422, "log_malformed", id="a time that no clock shows"),
        pytest.param(frames(b"x" * MAX_CHUNK), 413, "log_too_large", id="more than a chunk"),
    ],
)
def test_a_chunk_is_refused_for(agent: Caller, running: Placed, body: bytes, status: int, code: str) -> None:
    answer = agent.put_log(running, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert Task.objects.get().log_size == 0


def test_only_octet_streams_are_taken(agent: Caller, running: Placed) -> None:
    answer = agent.call("PUT", running.path(f"log?offset=0&fence={running.fence}"), {"text": "hello"})
    assert answer.status_code == 415


class TestALogThatReachesItsLimit:
    @pytest.fixture(autouse=True)
    def limit(self, settings: Settings) -> None:
        settings.GPULAYER_LOG_LIMIT_BYTES = 40

    def test_keeps_the_frames_that_fit_and_is_flagged(self, agent: Caller, running: Placed) -> None:
        assert agent.put_log(running, ONE + TWO + ONE).json() == {"size": 34}
        assert text_of(running) == "one\ntwo\n"
        assert running.row().log_cut

    def test_takes_no_more(self, agent: Caller, running: Placed) -> None:
        agent.put_log(running, ONE + TWO)
        assert not running.row().log_cut
        answer = agent.put_log(running, ONE, offset=34)
        assert (answer.status_code, answer.json()["code"], answer.json()["size"]) == (413, "log_full", 34)
        assert running.row().log_cut

    def test_still_knows_what_it_has(self, agent: Caller, running: Placed) -> None:
        agent.put_log(running, ONE + TWO + ONE)
        assert agent.put_log(running, ONE).json() == {"size": 34}
        assert agent.put_log(running, ONE, offset=99).status_code == 416


def test_binary_output_and_split_characters_are_read_as_text(agent: Caller, running: Placed) -> None:
    euro = "€".encode()
    agent.put_log(running, frames(euro[:1]) + frames("!", stream=b"e") + frames(euro[1:], b"\xff\x00"))
    page = read_log(Task.objects.get(), offset=0)
    assert "".join(record.text for record in page.records if record.stream == "stdout") == "€\ufffd\0"


@pytest.mark.parametrize("trap", ["link", "pipe", "folder link"])
def test_a_log_is_never_written_through_what_is_no_file_of_ours(
    agent: Caller, running: Placed, settings: Settings, tmp_path: Path, trap: str
) -> None:
    outside = tmp_path / "outside"
    path = log_file(running, settings)
    if trap == "folder link":
        outside.mkdir()
        path.parent.parent.mkdir()
        path.parent.symlink_to(outside)
    else:
        path.parent.mkdir(parents=True)
        path.symlink_to(outside) if trap == "link" else os.mkfifo(path)
    answer = agent.put_log(running, ONE)
    assert answer.status_code == 507
    assert not outside.exists() or not list(outside.iterdir())
    assert Task.objects.get().log_size == 0


def test_logs_are_private_to_the_servers_user(agent: Caller, running: Placed, settings: Settings) -> None:
    agent.put_log(running, ONE)
    path = log_file(running, settings)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
