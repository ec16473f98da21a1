"""Logs in trouble: a full disk, a log that is not what was sent, writers that die and writers that race."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from scheduler.models import Event, Task
from scheduler.services.log_check import MISMATCH
from scheduler.services.log_frames import MAX_CHUNK
from scheduler.services.logs import log_key, read_bytes
from scheduler.storage import storage
from tests.api.callers import Caller, Placed, frames
from tests.scheduler.test_storage import files_no_larger_than

pytestmark = pytest.mark.django_db

CHUNK = frames(*[bytes([65 + n]) * 65_000 for n in range(16)])
DISK = 8 * 1024 * 1024


@pytest.fixture
def running(agent: Caller, placed: Placed) -> Placed:
    agent.ok(placed.path("claim"), placed.guard)
    return placed


@pytest.fixture
def small_disk(settings: Settings) -> Iterator[Callable[[], None]]:
    """The logs lie on a disk of 8 MiB; what is given back makes room on it again."""
    settings.GPULAYER_KEEP_FREE_BYTES = 0
    logs = Path(settings.GPULAYER_DATA) / "logs"
    logs.mkdir(mode=0o700, parents=True)
    with _a_disk_at(logs) as make_room:
        yield make_room


@contextmanager
def _a_disk_at(folder: Path) -> Iterator[Callable[[], None]]:
    """A small file system, where this user may mount one; else the system's own limit on the size of files."""
    if not _mounted(folder):
        with files_no_larger_than(DISK) as lift:
            yield lift
        return
    try:
        yield lambda: _command("mount", "-o", f"remount,size={4 * DISK}", folder)
    finally:
        _command("umount", folder)


def _mounted(folder: Path) -> bool:
    return os.geteuid() == 0 and _command("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder)


def _command(*words: str | Path) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def put_all(agent: Caller, placed: Placed, size: int = 0) -> tuple[int, Any]:
    """Put chunk after chunk until one is refused; how much is stored then, and the refusal."""
    while True:
        answer = agent.put_log(placed, CHUNK, offset=size)
        if answer.status_code != 200:
            return size, answer
        size = answer.json()["size"]


def finished(placed: Placed, size: int, digest: str = "", **more: Any) -> dict[str, Any]:
    """A finish report."""
    return {
        **placed.guard, "exit_code": 0, "signal": None, "duration_ms": 1, "log_size": size, "timed_out": False,
        "start_error": None, "ended_by": None, **({"log_sha256": digest} if digest else {}), **more,
    }  # fmt: skip


class TestAFullDisk:
    def test_is_answered_as_such_and_nothing_is_lost(
        self, agent: Caller, running: Placed, small_disk: Callable[[], None]
    ) -> None:
        size, answer = put_all(agent, running)
        assert (answer.status_code, answer.json()["code"]) == (507, "log_disk_full")
        assert 4 * MAX_CHUNK < size <= DISK
        assert Task.objects.get().log_size == size
        small_disk()
        assert agent.put_log(running, CHUNK, offset=size).json() == {"size": size + len(CHUNK)}
        stored = b"".join(read_bytes(Task.objects.get()))
        assert stored == b"".join(bytes([65 + n]) * 65_000 for n in range(16)) * ((size // len(CHUNK)) + 1)

    def test_keeps_no_job_from_its_end(self, agent: Caller, running: Placed, small_disk: Callable[[], None]) -> None:
        size, _ = put_all(agent, running)
        report = finished(running, size, log_total=size + len(CHUNK))
        assert agent.ok(running.path("finish"), report)["state"] == "succeeded"
        assert agent.ok(running.path("release"), running.guard)
        small_disk()
        assert agent.put_log(running, CHUNK, offset=size).json() == {"size": size + len(CHUNK)}

    def test_is_left_some_room_for_the_database(self, agent: Caller, running: Placed, settings: Settings) -> None:
        settings.GPULAYER_KEEP_FREE_BYTES = 2**62
        answer = agent.put_log(running, CHUNK)
        assert (answer.status_code, answer.json()["code"]) == (507, "log_disk_full")
        assert "left free" in answer.json()["detail"]


class TestTheHashOfALog:
    def test_that_is_right_is_nothing_to_speak_of(self, agent: Caller, running: Placed) -> None:
        agent.put_log(running, CHUNK)
        agent.ok(running.path("finish"), finished(running, len(CHUNK), hashlib.sha256(CHUNK).hexdigest()))
        assert not Event.objects.filter(verb=MISMATCH).exists()

    def test_that_is_another_is_recorded_once(self, agent: Caller, running: Placed) -> None:
        agent.put_log(running, CHUNK)
        with storage().writing(log_key(running.task)) as blob:
            blob.write(100, b"!")
        report = finished(running, len(CHUNK), hashlib.sha256(CHUNK).hexdigest())
        for _ in range(2):
            assert agent.ok(running.path("finish"), report)["state"] == "succeeded"
        event = Event.objects.get(verb=MISMATCH)
        assert event.detail["sent"] == report["log_sha256"]
        assert event.detail["stored"] != report["log_sha256"]

    def test_is_compared_once_the_rest_has_come(self, agent: Caller, running: Placed) -> None:
        agent.put_log(running, CHUNK)
        wrong = hashlib.sha256(b"something else").hexdigest()
        agent.ok(running.path("finish"), finished(running, 2 * len(CHUNK), wrong))
        assert not Event.objects.filter(verb=MISMATCH).exists()
        agent.put_log(running, CHUNK, offset=len(CHUNK))
        assert Event.objects.filter(verb=MISMATCH).count() == 1

    def test_of_a_log_that_was_cut_is_that_of_what_was_kept(
        self, agent: Caller, running: Placed, settings: Settings
    ) -> None:
        settings.GPULAYER_LOG_LIMIT_BYTES = 200_000
        size = agent.put_log(running, CHUNK).json()["size"]
        assert 130_000 < size <= 200_000
        agent.ok(running.path("finish"), finished(running, size, hashlib.sha256(CHUNK[:size]).hexdigest()))
        assert not Event.objects.filter(verb=MISMATCH).exists()


def test_a_flood_ends_at_the_limit_and_is_flagged(agent: Caller, running: Placed, settings: Settings) -> None:
    settings.GPULAYER_LOG_LIMIT_BYTES = 5_000_000
    size, answer = put_all(agent, running)
    assert (answer.status_code, answer.json()["code"], answer.json()["size"]) == (413, "log_full", size)
    assert 5_000_000 - 65_013 < size <= 5_000_000
    assert Task.objects.get().log_cut
    assert storage().size(log_key(running.task)) == size
