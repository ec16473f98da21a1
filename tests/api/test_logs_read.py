"""Reading logs over the people's interface: records, frames, and the bytes that were written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django.fixtures import Settings

from scheduler.models import Attempt, Task, TaskState
from scheduler.services.holding import draw_fences
from scheduler.services.logs import append_log
from tests.api.callers import Caller, Placed, frames
from tests.api.test_people import Person, caller_of

pytestmark = pytest.mark.django_db

BOTH = frames("one\n") + frames(b"\xff\x00two\r\n", stream=b"e") + frames("three")


@pytest.fixture
def as_mira(mira: User) -> Person:
    return caller_of(mira)


@pytest.fixture
def path(agent: Caller, placed: Placed) -> str:
    """The log of a claimed job."""
    agent.ok(placed.path("claim"), placed.guard)
    return f"jobs/{placed.job.job_id}/log"


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def another_task(placed: Placed, *, attempt: Attempt | None = None, rank: int = 0) -> Task:
    """A task of another attempt or rank of the same job, with a log that says which."""
    before = placed.row()
    if attempt is None:
        Attempt.objects.filter(job=placed.job).update(active=False, state="failed", ended_at=timezone.now())
        (fence,) = draw_fences(1)
        number = placed.job.attempts.count() + 1
        attempt = Attempt.objects.create(job=placed.job, number=number, fence=fence, created_at=timezone.now())
    worker = before.worker if not attempt.tasks.exists() else another_worker(before.worker)
    task = Task.objects.create(
        attempt=attempt, rank=rank, worker=worker, state=TaskState.CLAIMED, claimed_at=timezone.now(),
        state_since=timezone.now(),
    )  # fmt: skip
    body = frames(f"attempt {attempt.number}, rank {rank}\n")
    append_log(task_id=task.pk, offset=0, body=body, now=timezone.now())
    return task


def another_worker(worker: Any) -> Any:
    return type(worker).objects.create(
        name=f"{worker.name}-2", origin="local", state_since=timezone.now(), created_at=timezone.now()
    )


def test_records_come_page_by_page(as_mira: Person, agent: Caller, placed: Placed, path: str) -> None:
    empty = as_mira("GET", f"{path}?format=json").json()
    assert (empty["records"], empty["size"], empty["next"], empty["ended"]) == ([], 0, 0, False)
    agent.put_log(placed, frames("one\n") + frames("two\n", stream=b"e"))
    page = as_mira("GET", f"{path}?format=json").json()
    assert [(each["stream"], each["text"]) for each in page["records"]] == [("stdout", "one\n"), ("stderr", "two\n")]
    assert (page["size"], page["next"], page["ended"]) == (34, 34, False)
    beyond = as_mira("GET", f"{path}?offset=99&format=json")
    assert (beyond.status_code, beyond.json()["size"]) == (416, 34)


@pytest.mark.parametrize(
    ("query", "written"),
    [
        pytest.param("", b"one\n\xff\x00two\r\nthree", id="both streams, as they came"),
        pytest.param("?stream=stdout", b"one\nthree", id="one of them"),
        pytest.param("?stream=stderr", b"\xff\x00two\r\n", id="the other, no byte changed"),
        pytest.param("?offset=17", b"\xff\x00two\r\nthree", id="from a frame on"),
    ],
)
def test_text_is_the_bytes_that_were_written(
    as_mira: Person, agent: Caller, placed: Placed, path: str, query: str, written: bytes
) -> None:
    agent.put_log(placed, BOTH)
    assert content(as_mira("GET", path + query)) == written


def test_a_browser_is_told_to_keep_it_and_to_run_nothing(as_mira: Person, path: str) -> None:
    answer = as_mira("GET", f"{path}?download=true&stream=stderr")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox")
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert answer["Content-Disposition"].endswith('-stderr.log"')


def test_frames_come_as_they_are_stored(as_mira: Person, agent: Caller, placed: Placed, path: str) -> None:
    agent.put_log(placed, BOTH)
    answer = as_mira("GET", f"{path}?format=frames")
    about = json.loads(answer["Gpulayer-Log"])
    assert answer.content == BOTH
    assert (about["size"], about["next"], about["ended"]) == (len(BOTH), len(BOTH), False)


def test_every_attempt_and_rank_has_its_own(as_mira: Person, placed: Placed, path: str) -> None:
    second = another_task(placed)
    another_task(placed, attempt=second.attempt, rank=1)
    append_log(task_id=placed.task, offset=0, body=frames("attempt 1, rank 0\n"), now=timezone.now())
    said = {query: content(as_mira("GET", path + query)) for query in ("", "?rank=1", "?attempt=1", "?attempt=2")}
    assert said == {
        "": b"attempt 2, rank 0\n", "?rank=1": b"attempt 2, rank 1\n",
        "?attempt=1": b"attempt 1, rank 0\n", "?attempt=2": b"attempt 2, rank 0\n",
    }  # fmt: skip
    first = as_mira("GET", f"{path}?attempt=1&format=json").json()
    assert (first["attempt"], first["ended"]) == (1, True)


@pytest.mark.parametrize("query", ["?attempt=2", "?rank=1", "?attempt=1&rank=7"])
def test_a_log_that_there_is_not_is_not_found(as_mira: Person, path: str, query: str) -> None:
    answer = as_mira("GET", path + query)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_log")


@pytest.mark.parametrize("query", ["?attempt=0", "?rank=-1", "?stream=x", "?format=x", "?attempt=" + "9" * 30])
def test_nonsense_names_its_field(as_mira: Person, path: str, query: str) -> None:
    assert as_mira("GET", path + query).status_code == 422


def test_it_says_that_the_log_was_cut(
    as_mira: Person, agent: Caller, placed: Placed, path: str, settings: Settings
) -> None:
    settings.GPULAYER_LOG_LIMIT_BYTES = 20
    agent.put_log(placed, BOTH)
    page = as_mira("GET", f"{path}?format=json").json()
    assert (page["cut"], page["size"]) == (True, 17)


def test_a_removed_log_is_empty_and_says_since_when(as_mira: Person, agent: Caller, placed: Placed, path: str) -> None:
    agent.put_log(placed, BOTH)
    Task.objects.filter(pk=placed.task).update(log_deleted_at=timezone.now())
    page = as_mira("GET", f"{path}?format=json").json()
    assert (page["records"], page["next"]) == ([], len(BOTH))
    assert page["removed_at"]
    answer = agent.put_log(placed, frames("late"), offset=len(BOTH))
    assert (answer.status_code, answer.json()["code"]) == (413, "log_full")
