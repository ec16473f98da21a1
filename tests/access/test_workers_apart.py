"""A worker speaks for itself: not with another's task, fence or credential, and not to people's calls."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from scheduler.models import Task
from tests.api.callers import Caller, Placed, frames, place
from tests.api.conftest import agent, enrolled, enrolment, mira, own_data_folder  # noqa: F401 - fixtures, given on
from workers.models import Event, Worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(enrolment: Any) -> Caller:  # noqa: F811
    """The agent of another worker, w2."""
    return enrolled(enrolment(), "w2")


@pytest.fixture
def theirs(agent: Caller, mira: User) -> Placed:  # noqa: F811
    """A task of w1 with a secret and files to come."""
    return place(agent, "w1", owner=mira, secrets={"TOKEN": "hush-hush"})


def calls(theirs: Placed, guard: dict[str, int]) -> list[tuple[str, str, Any]]:
    """Everything that an agent can ask about one task."""
    fence = guard["fence"]
    return [
        ("POST", theirs.path("claim"), guard),
        ("POST", theirs.path("decline"), {**guard, "code": "busy", "detail": "no room"}),
        ("POST", theirs.path("started"), {**guard, "pid": 1, "workdir": "/tmp"}),
        ("POST", theirs.path("finish"), {**guard, "exit_code": 0, "duration_ms": 1, "log_size": 0}),
        ("POST", theirs.path("release"), guard),
        ("POST", theirs.path("outputs/done"), {"fence": fence, "note": ""}),
        ("GET", theirs.path(f"files?fence={fence}&offset=0"), None),
        ("PUT", theirs.path(f"log?fence={fence}&offset=0"), frames("x")),
        ("PUT", theirs.path(f"outputs?fence={fence}&path=x&size=1&offset=0"), b"x"),
    ]


def asked(caller: Caller, method: str, path: str, body: Any) -> Any:
    if isinstance(body, bytes):
        return caller.client.generic(
            method, f"/api/agent/v1/{path}", body, "application/octet-stream",
            headers={"Authorization": f"Bearer {caller.secret}"},
        )  # fmt: skip
    return caller.call(method, path, body)


def test_another_workers_task_is_not_there(other: Caller, theirs: Placed) -> None:
    """With the right fence and epoch, which it cannot know, as with its own."""
    before = Task.objects.filter(pk=theirs.task).values().get()
    for guard in (theirs.guard, {"fence": theirs.fence, "epoch": other.epochs["w2"]}, {"fence": 1, "epoch": 1}):
        for method, path, body in calls(theirs, guard):
            answer = asked(other, method, path, body)
            assert answer.status_code == 404, (path, answer.content)
            assert b"hush-hush" not in answer.content
    assert Task.objects.filter(pk=theirs.task).values().get() == before
    assert Event.objects.filter(verb="refused", actor="worker:w2", after="not_its_task").exists(), "it is written down"


def test_it_is_answered_like_a_task_that_there_is_not(other: Caller, theirs: Placed) -> None:
    absent = Placed(theirs.job, 987654321, theirs.fence, theirs.epoch)
    for (method, path, body), (_, nowhere, _body) in zip(
        calls(theirs, theirs.guard), calls(absent, theirs.guard), strict=True
    ):
        there, gone = (asked(other, method, each, body) for each in (path, nowhere))
        assert (there.status_code, gone.status_code) == (404, 404), path
        assert there.json() == {**gone.json(), "detail": gone.json()["detail"].replace("987654321", str(theirs.task))}


def test_its_own_task_with_another_fence_is_refused(agent: Caller, theirs: Placed) -> None:  # noqa: F811
    answer = agent.post(theirs.path("claim"), {"fence": theirs.fence + 1, "epoch": theirs.epoch})
    assert answer.status_code == 409
    assert b"hush-hush" not in answer.content


def test_another_workers_name_is_not_there(other: Caller, agent: Caller) -> None:  # noqa: F811
    assert other.get("assignments?worker=w1").status_code == 404
    assert other.post("heartbeat", {**agent.beat(), "epoch": agent.epochs["w1"]}).status_code == 404
    assert other.post("register", Caller.registration("w1")).status_code == 404
    assert other.get("assignments").json() == {"assignments": [], "cancel": []}


@pytest.mark.parametrize("path", ["whoami", "jobs", "workers", "people", "worker-tokens", "jobs/j-1", "audit"])
def test_no_call_of_people_takes_a_workers_credential(agent: Caller, path: str) -> None:  # noqa: F811
    answer = agent.client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {agent.secret}"})
    assert answer.status_code == 401
    assert Event.objects.filter(subject_kind="access", verb="refused").exists(), "it is written down"


def test_a_successor_is_the_workers_own(agent: Caller, other: Caller) -> None:  # noqa: F811
    """A credential is replaced by who calls with it, never one that is named."""
    answer = other.post("credential/rotate", {"epoch": other.epochs["w2"], "worker": "w1"})
    assert answer.status_code == 422
    before = Worker.objects.get(name="w1").credential
    other.ok("credential/rotate", {"epoch": other.epochs["w2"]})
    assert before is not None
    before.refresh_from_db()
    assert before.next_hash is None
