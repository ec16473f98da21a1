"""Files that people upload for their jobs, and outputs that agents bring: in parts, repeated, late and wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from scheduler.models import Bundle, OutputFile
from scheduler.services import bundles
from scheduler.storage import Key, Kind, storage
from tests.api.callers import Caller, Placed, place
from tests.api.test_people import JOB, Person, caller_of

pytestmark = pytest.mark.django_db

BYTES = "application/octet-stream"
CONTENT = b"one archive\n" * 1000
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def as_mira(mira: User) -> Person:
    return caller_of(mira)


@pytest.fixture
def as_noor(db: None) -> Person:
    return caller_of(User.objects.create_user("noor"))


def put(person: Person, data: bytes = CONTENT, *, offset: int = 0, size: int = len(CONTENT), sha: str = HASH) -> Any:
    return person("PUT", f"bundles/{sha}?offset={offset}&size={size}", data, BYTES)


def test_files_come_in_parts_and_are_whole_once_their_hash_is_right(as_mira: Person) -> None:
    first = put(as_mira, CONTENT[:5000]).json()
    assert first == {"sha256": HASH, "size": 12_000, "stored": 5000, "complete": False}
    assert as_mira("GET", f"bundles/{HASH}").json() == first
    assert put(as_mira, CONTENT[5000:], offset=5000).json()["complete"]


def test_the_same_part_again_changes_nothing(as_mira: Person) -> None:
    for _ in range(2):
        assert put(as_mira, CONTENT[:5000]).json()["stored"] == 5000
    for _ in range(2):
        assert put(as_mira, CONTENT[5000:], offset=5000).json()["stored"] == 12_000


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        pytest.param({"data": CONTENT[:10], "offset": 50}, 416, "bundle_gap", id="a gap"),
        pytest.param({"data": b"other bytes"}, 409, "bundle_differs", id="other bytes at the same place"),
        pytest.param({"data": CONTENT, "offset": 5}, 409, "bundle_differs", id="more than was announced"),
        pytest.param({"data": CONTENT[5:10], "offset": 5, "size": 99}, 409, "bundle_differs", id="another size"),
        pytest.param({"size": 10**9}, 413, "bundle_too_large", id="a gigabyte"),
        pytest.param({"sha": "F" * 64}, 422, "invalid", id="what is no hash"),
        pytest.param({"offset": -1}, 422, "invalid", id="a place before the beginning"),
    ],
)
def test_a_wrong_part_is_refused(as_mira: Person, call: dict[str, Any], status: int, code: str) -> None:
    put(as_mira, CONTENT[:7])
    answer = put(as_mira, **call)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert Bundle.objects.get().stored == 7
    if status == 416:
        assert answer.json()["size"] == 7


def test_what_arrives_with_another_hash_is_forgotten(as_mira: Person) -> None:
    answer = put(as_mira, b"x" * 12_000)
    assert (answer.status_code, answer.json()["code"]) == (422, "bundle_hash_differs")
    assert not Bundle.objects.exists()
    assert put(as_mira).json()["complete"]


def test_an_upload_that_was_given_up_can_begin_anew_with_another_size(as_mira: Person) -> None:
    put(as_mira, b"wrong", size=500)
    assert put(as_mira).json()["complete"]


def test_nobody_learns_or_uses_what_others_have_uploaded(as_mira: Person, as_noor: Person) -> None:
    put(as_mira)
    absent = as_noor("GET", f"bundles/{'0' * 64}")
    others = as_noor("GET", f"bundles/{HASH}")
    assert (others.status_code, others.json()) == (404, absent.json())
    refused = as_noor("POST", "jobs", JOB | {"files": HASH})
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (422, "files")
    assert put(as_noor, CONTENT[:10]).json()["stored"] == 10


def test_a_job_names_files_that_are_whole(as_mira: Person) -> None:
    put(as_mira, CONTENT[:10])
    half = as_mira("POST", "jobs", JOB | {"files": HASH})
    assert (half.status_code, half.json()["problems"][0]["path"]) == (422, "files")
    put(as_mira, CONTENT[10:], offset=10)
    made = as_mira("POST", "jobs", JOB | {"files": HASH})
    assert made.status_code == 201
    assert Bundle.objects.get().jobs.get().job_id == made.json()["job_id"]


@pytest.fixture
def with_files(agent: Caller, mira: User, as_mira: Person) -> Placed:
    """A task with files that was claimed."""
    put(as_mira)
    placed = place(agent, "w1", owner=mira, files=HASH)
    agent.ok(placed.path("claim"), placed.guard)
    return placed


def fetched(agent: Caller, placed: Placed, offset: int = 0, fence: int | None = None) -> Any:
    fence = placed.fence if fence is None else fence
    return agent.get(f"{placed.path('files')}?offset={offset}&fence={fence}")


def test_the_agent_of_a_claimed_task_gets_its_files_part_by_part(
    agent: Caller, with_files: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles.read, "__kwdefaults__", {"length": 7000})
    first = fetched(agent, with_files).content
    assert len(first) == 7000
    assert first + fetched(agent, with_files, 7000).content == CONTENT
    assert fetched(agent, with_files, 12_000).content == b""
    assert fetched(agent, with_files, 12_001).status_code == 416


def test_files_are_given_to_nobody_else(
    agent: Caller, with_files: Placed, enrolment: Callable[..., Caller], mira: User
) -> None:
    other = enrolment().enrol("w2")
    other.register("w2")
    assert fetched(other, with_files).status_code == 404
    assert fetched(agent, with_files, fence=999).json()["code"] == "stale_fence"
    without = place(agent, "w1", owner=mira, devices=(1,))
    assert fetched(agent, without).json()["code"] == "not_claimed"
    agent.ok(without.path("claim"), without.guard)
    assert fetched(agent, without).json()["code"] == "no_files"


@pytest.fixture
def ended(agent: Caller, placed: Placed) -> Placed:
    """A task that has ended with something in its output folder."""
    agent.ok(placed.path("claim"), placed.guard)
    agent.ok(placed.path("started"), {**placed.guard, "pid": 4711, "workdir": "/tmp/job"})
    agent.ok(placed.path("finish"), {**placed.guard, "exit_code": 0, "duration_ms": 1, "log_size": 0})
    return placed


def bring(agent: Caller, placed: Placed, path: str, data: bytes, *, size: int | None = None, **more: Any) -> Any:
    given = {"path": path, "offset": 0, "size": len(data) if size is None else size, "fence": placed.fence, **more}
    query = "&".join(f"{key}={value}" for key, value in given.items())
    return agent.client.put(
        f"/api/agent/v1/{placed.path('outputs')}?{query}",
        data,
        BYTES,
        headers={"Authorization": f"Bearer {agent.secret}"},
    )


def test_outputs_come_in_parts_after_the_end_and_are_downloaded_as_they_were(
    agent: Caller, ended: Placed, as_mira: Person
) -> None:
    assert bring(agent, ended, "model/w.bin", b"abc", size=6).json() == {"size": 3}
    assert as_mira("GET", f"jobs/{ended.job.job_id}/outputs").json()["items"] == []
    for _ in range(2):
        assert bring(agent, ended, "model/w.bin", b"def", size=6, offset=3).json() == {"size": 6}
    assert bring(agent, ended, "empty", b"").json() == {"size": 0}
    agent.ok(ended.path("outputs/done"), {"fence": ended.fence, "note": "big.bin: too large"})
    empty, model = as_mira("GET", f"jobs/{ended.job.job_id}/outputs").json()["items"]
    assert (empty["path"], empty["size"], model["path"], model["size"]) == ("empty", 0, "model/w.bin", 6)
    assert model["sha256"] == hashlib.sha256(b"abcdef").hexdigest()
    answer = as_mira("GET", f"jobs/{ended.job.job_id}/outputs/{model['number']}")
    assert answer.status_code == 200, answer.content
    assert b"".join(answer.streaming_content) == b"abcdef"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="w.bin"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    rest = as_mira("GET", f"jobs/{ended.job.job_id}/outputs/{model['number']}?offset=4")
    assert b"".join(rest.streaming_content) == b"ef"


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/.", "a\\b", "%00", "a%0Ab", "%E2%80%AEa", "a" * 1001],
    ids=["up", "up inside", "absolute", "empty part", "dot", "dot at the end", "backslash", "NUL", "two lines",
         "turned", "too long"],
)  # fmt: skip
def test_a_path_that_means_anything_to_a_system_is_refused(agent: Caller, ended: Placed, path: str) -> None:
    assert bring(agent, ended, path, b"x").status_code == 422
    assert not OutputFile.objects.exists()


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        pytest.param({"data": b"xyz", "size": 6}, 409, "output_differs", id="other bytes"),
        pytest.param({"data": b"abc", "size": 7}, 409, "output_differs", id="another size"),
        pytest.param({"data": b"f", "size": 6, "offset": 5}, 416, "output_gap", id="a gap"),
        pytest.param({"data": b"abcdefg", "size": 6}, 413, "output_too_large", id="more than announced"),
        pytest.param({"path": "big", "data": b"x", "size": 95}, 413, "outputs_full", id="more than all may have"),
        pytest.param({"data": b"abc", "size": 6, "fence": 999}, 409, "stale_fence", id="another attempt"),
    ],
)
def test_a_wrong_part_of_an_output_is_refused(
    agent: Caller, ended: Placed, settings: Settings, call: dict[str, Any], status: int, code: str
) -> None:
    settings.GPULAYER_OUTPUTS_LIMIT_BYTES = 100
    bring(agent, ended, "a", b"abc", size=6)
    answer = bring(agent, ended, **({"path": "a"} | call))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert OutputFile.objects.get().stored == 3


def test_outputs_are_taken_after_the_end_and_until_they_are_said_to_be_complete(
    agent: Caller, placed: Placed, ended: Placed, mira: User
) -> None:
    running = place(agent, "w1", owner=mira, devices=(1,))
    agent.ok(running.path("claim"), running.guard)
    assert bring(agent, running, "a", b"x").json()["code"] == "task_over"
    for _ in range(2):
        agent.ok(ended.path("outputs/done"), {"fence": ended.fence})
    assert bring(agent, ended, "a", b"x").json()["code"] == "outputs_done"


def test_outputs_are_for_the_owner_and_operators(
    agent: Caller, ended: Placed, as_mira: Person, as_noor: Person
) -> None:
    bring(agent, ended, "a", b"x")
    number = OutputFile.objects.get().pk
    operator = caller_of(User.objects.create_user("ada", is_staff=True))
    for path in ("outputs", f"outputs/{number}"):
        address = f"jobs/{ended.job.job_id}/{path}"
        statuses = [person("GET", address).status_code for person in (as_mira, operator, as_noor)]
        assert statuses == [200, 200, 403]


def test_an_output_of_another_job_is_not_found_through_this_one(agent: Caller, ended: Placed, as_mira: Person) -> None:
    bring(agent, ended, "a", b"x")
    other = as_mira("POST", "jobs", JOB).json()["job_id"]
    answer = as_mira("GET", f"jobs/{other}/outputs/{OutputFile.objects.get().pk}")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_output")


def test_a_removed_output_is_listed_no_more(agent: Caller, ended: Placed, as_mira: Person) -> None:
    bring(agent, ended, "a", b"x")
    row = OutputFile.objects.get()
    OutputFile.objects.update(deleted_at=row.created_at)
    assert as_mira("GET", f"jobs/{ended.job.job_id}/outputs").json()["items"] == []
    assert bring(agent, ended, "a", b"x").json()["code"] == "output_differs"


def test_a_full_disk_is_said_and_the_rest_comes_later(
    agent: Caller, ended: Placed, as_mira: Person, settings: Settings
) -> None:
    settings.GPULAYER_KEEP_FREE_BYTES = 10**18
    assert bring(agent, ended, "a", b"x").json()["code"] == "outputs_disk_full"
    assert put(as_mira).json()["code"] == "bundles_disk_full"
    settings.GPULAYER_KEEP_FREE_BYTES = 0
    assert bring(agent, ended, "a", b"x").json() == {"size": 1}
    assert put(as_mira).json()["complete"]
    assert storage().size(Key(Kind.BUNDLES, Bundle.objects.get().pk)) == len(CONTENT)
