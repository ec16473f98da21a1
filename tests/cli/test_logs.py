"""`gpulayer job logs`: byte for byte, on the streams it came from, of any attempt and rank, to the end."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from scheduler.models import Attempt, AttemptState, Job, JobState, Task, TaskState
from scheduler.services.log_frames import Frame, encode
from scheduler.services.logs import append_log
from tests.cli.conftest import Commands
from tests.cli.test_jobs import over, submitted
from tests.live import Server
from workers.models import Worker

BINARY = bytes(range(256)) + "€ 🧑‍🚀\r\n".encode()


@pytest.fixture
def task(cli: Commands, server: Server, a_machine: Callable[..., Worker]) -> Task:
    """The only task of a job that was just placed."""
    a_machine()
    submitted(cli)
    server.until(lambda: Job.objects.get().state == "assigned")
    return Task.objects.select_related("attempt__job").get()


def write(task: Task, data: bytes, *, stream: str = "stdout", at_ms: int = 0) -> None:
    size = Task.objects.values_list("log_size", flat=True).get(pk=task.pk)
    append_log(task_id=task.pk, offset=size, body=encode(Frame(stream, at_ms, data)), now=timezone.now())


def test_every_byte_comes_as_it_was_written(cli: Commands, task: Task) -> None:
    write(task, BINARY)
    write(task, BINARY[::-1], stream="stderr")
    write(task, b"no newline at the end")
    result = cli("job", "logs", task.attempt.job.job_id)
    assert result.stdout_bytes == BINARY + b"no newline at the end"
    assert result.stderr_bytes == BINARY[::-1]


@pytest.mark.parametrize(
    ("stream", "out", "err"), [("stdout", b"one", b""), ("stderr", b"", b"two"), ("both", b"one", b"two")]
)
def test_of_one_stream_only(cli: Commands, task: Task, stream: str, out: bytes, err: bytes) -> None:
    write(task, b"one")
    write(task, b"two", stream="stderr")
    result = cli("job", "logs", task.attempt.job.job_id, "--stream", stream)
    assert (result.stdout_bytes, result.stderr_bytes) == (out, err)


def test_more_than_a_page_comes_in_order(cli: Commands, task: Task) -> None:
    for number in range(40):
        write(task, b"%d" % number * 60_000)
    assert cli("job", "logs", task.attempt.job.job_id).stdout_bytes == b"".join(b"%d" % n * 60_000 for n in range(40))


def test_as_json_each_record_has_its_stream_and_time(cli: Commands, task: Task) -> None:
    write(task, b"one\n", at_ms=1_700_000_000_123)
    write(task, b"two", stream="stderr")
    lines = [json.loads(line) for line in cli("job", "logs", task.attempt.job.job_id, "--json").stdout.splitlines()]
    assert lines == [
        {"stream": "stdout", "at_ms": 1_700_000_000_123, "text": "one\n"},
        {"stream": "stderr", "at_ms": 0, "text": "two"},
    ]


class TestAttemptsAndRanks:
    @pytest.fixture
    def second(self, task: Task) -> list[Task]:
        """The tasks of a second attempt, of two ranks."""
        write(task, b"of the first\n")
        return another_attempt(task)

    def test_each_has_its_own(self, cli: Commands, task: Task, second: list[Task]) -> None:
        job_id = task.attempt.job.job_id
        said = [cli("job", "logs", job_id, *words).stdout for words in ((), ("--rank", 1), ("--attempt", 1))]
        assert said == ["of rank 0\n", "of rank 1\n", "of the first\n"]

    @pytest.mark.parametrize("words", [("--attempt", 3), ("--rank", 2)])
    def test_one_that_there_is_not_is_an_error(
        self, cli: Commands, task: Task, second: list[Task], words: tuple[str, int]
    ) -> None:
        result = cli("job", "logs", task.attempt.job.job_id, *words)
        assert result.exit_code == 1
        assert f"has no {words[0].removeprefix('--')} {words[1]}" in result.stderr

    def test_following_goes_from_one_to_the_next(self, cli: Commands, task: Task) -> None:
        write(task, b"of the first\n")
        job_id = task.attempt.job.job_id
        timer = threading.Timer(1.0, lambda: (another_attempt(task), over_with(task)))
        timer.start()
        result = cli("job", "logs", job_id, "-f")
        timer.join()
        assert result.stdout == "of the first\nof rank 0\n"
        assert result.stderr == "gpulayer: attempt 2\n"

    def test_following_one_ends_with_it(self, cli: Commands, task: Task, second: list[Task]) -> None:
        assert cli("job", "logs", task.attempt.job.job_id, "-f", "--attempt", 1).stdout == "of the first\n"


def another_attempt(task: Task) -> list[Task]:
    now = timezone.now()
    Task.objects.filter(pk=task.pk).update(state=TaskState.REVOKED, finished_at=now, released_at=now)
    Attempt.objects.filter(pk=task.attempt_id).update(active=False, state=AttemptState.LOST, ended_at=now)
    attempt = Attempt.objects.create(job=task.attempt.job, number=2, fence=999, created_at=now)
    workers = [task.worker, Worker.objects.create(name="w2", origin="local", state_since=now, created_at=now)]
    tasks = [
        Task.objects.create(attempt=attempt, rank=rank, worker=worker, state_since=now)
        for rank, worker in enumerate(workers)
    ]
    for each in tasks:
        write(each, b"of rank %d\n" % each.rank)
    return tasks


def over_with(task: Task) -> None:
    now = timezone.now()
    Attempt.objects.filter(job=task.attempt.job, active=True).update(
        active=False, state=AttemptState.SUCCEEDED, ended_at=now
    )
    Job.objects.filter(pk=task.attempt.job_id).update(state=JobState.SUCCEEDED, finished_at=now)


def test_a_log_that_was_cut_says_so_once_and_aside(cli: Commands, task: Task) -> None:
    write(task, b"one\n")
    Task.objects.update(log_cut=True)
    over(task.attempt.job.job_id)
    result = cli("job", "logs", task.attempt.job.job_id)
    assert result.stdout == "one\n"
    assert result.stderr.startswith("gpulayer: this log reached the server's limit")


def test_a_log_that_was_removed_says_when(cli: Commands, task: Task) -> None:
    write(task, b"one\n")
    over(task.attempt.job.job_id)
    Task.objects.update(log_deleted_at=datetime(2026, 11, 30, 12, tzinfo=UTC))
    result = cli("job", "logs", task.attempt.job.job_id)
    assert (result.stdout, result.stderr) == ("", "gpulayer: this log was removed at 2026-11-30 12:00 UTC\n")
