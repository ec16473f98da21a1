"""Neither a hostile server, nor a hostile agent, nor a job gets further than its own tasks. (S35-S37)

tests/agent/test_replies.py has the replies that no agent follows, tests/api/test_sessions.py and test_less.py what no
agent may claim to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.test import Client

from scheduler.models import DeviceHold, Task
from tests.agent.conftest import HERE
from tests.agent.wire import Script, serving
from tests.api.callers import Caller, Placed, a_document
from tests.api.callers import place as placed_on
from tests.security.world import PASSWORD
from workers.agent.client import AgentClient
from workers.agent.command import variables_of
from workers.agent.messages import Claim
from workers.agent.transport import Transport, UnreachableError, retry_after
from workers.models import Event, Label, Worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def placed(agent: Caller, mira: Any) -> Placed:
    return placed_on(agent, "w1", owner=mira, secrets={"HF_TOKEN": "hf_1234567890"})


def test_nothing_in_a_jobs_environment_opens_the_server(agent: Caller, placed: Placed) -> None:
    answer = agent.ok(placed.path("claim"), placed.guard)
    claim = Claim(
        task=placed.task, fence=placed.fence, job_id=answer["job_id"], attempt=1, rank=0, go=True, argv=("true",),
        workdir=None, env=answer["env"], secrets=answer["secrets"], environment="default", devices=((0, "GPU-w1-0"),),
        timeout_s=None,
    )  # fmt: skip
    own = {"PATH": "/usr/bin", "GPULAYER_TOKEN": agent.secret, "GPULAYER_URL": "https://gpu.example"}
    given = variables_of(claim, {"default": HERE}, "the-tag", own, outputs=Path("/tmp/outputs"))
    assert agent.secret not in given.values()
    for value in given.values():
        headers = {"Authorization": f"Bearer {value}"} if value.isascii() and value.isprintable() else {}
        for path in ("/api/v1/whoami", "/api/v1/jobs", "/api/agent/v1/assignments", "/api/agent/v1/openapi.json"):
            assert Client().get(path, headers=headers).status_code == 401, value
        assert Client().post("/api/agent/v1/enroll", b"{}", "application/json", headers=headers).status_code == 401


DEEP = "[" * 100_000 + "]" * 100_000
REPLIES: dict[str, bytes] = {
    "lists in lists": f'{{"assignments": {DEEP}, "cancel": []}}'.encode(),
    "a number without end": b'{"assignments": [], "cancel": [%s]}' % (b"9" * 100_000),
    "NaN": b'{"assignments": [], "cancel": [NaN], "next_in": NaN}',
    "a job outside of its folder": b'{"assignments": [{"task": 1, "fence": 1, "job_id": "../../x"}], "cancel": []}',
    "a job of NUL": b'{"assignments": [{"task": 1, "fence": 1, "job_id": "a\\u0000"}], "cancel": []}',
    "text for a task": b'{"assignments": [{"task": "../1", "fence": 1, "job_id": "j-1"}], "cancel": []}',
    "no object": b"[]",
    "half a character": b'{"assignments": [{"task": 1, "fence": 1, "job_id": "\\ud800"}], "cancel": []}',
    "an infinite wait": b'{"assignments": [], "cancel": [], "next_in": 1e999}',
    "a page": b"<html><script>alert(1)</script></html>",
}


@pytest.mark.parametrize("words", ["\u00b2", "9" * 5_000, "-1", "Mon, 1 Jan 99999 00:00:00 GMT", "nan", "\u00e4"])
def test_an_agent_waits_ten_minutes_at_most(words: str) -> None:
    answer = httpx.Response(503, headers=[(b"Retry-After", words.encode("latin-1"))])
    assert 0 <= (retry_after(answer) or 0.0) <= 600


@pytest.mark.parametrize("kind", REPLIES)
def test_an_agent_follows_no(kind: str) -> None:
    with serving(Script()) as script, closing(Transport(script.url, "glw_x")) as transport:
        script.say("GET assignments", (200, REPLIES[kind]))
        with pytest.raises(UnreachableError):
            AgentClient(transport).assignments("w1")


LIES: dict[str, dict[str, Any]] = {
    "a label of the system": {"labels": {"gpulayer.dev/reserved-for": "team:vision"}},
    "a worker of another name": {"id": "w2"},
    "to be reserved": {"reserved_for": "user:eve"},
    "to be drained by an operator": {"state": "draining"},
    "less memory than none": {"memory": -1},
    "more cores than there are atoms": {"cpu_cores": 10**30},
    "twenty thousand devices": {"devices": [{"index": each} for each in range(20_000)]},
    "one device twice": {"devices": [{"index": 0, "uuid": "GPU-x"}, {"index": 1, "uuid": "GPU-x"}]},
    "tasks that it made up": {"tasks": [{"job": "j-999", "devices": [0]}]},
}


@pytest.mark.parametrize("lie", LIES)
def test_no_agent_is_believed_that_it_has(enrolment: Callable[..., Caller], lie: str) -> None:
    caller = enrolment(origin="local").enrol("w1")
    answer = caller.post("register", Caller.registration("w1", a_document("w1") | LIES[lie]))
    assert 400 <= answer.status_code < 500, answer.content
    assert not Worker.objects.filter(liveness="online").exists()
    assert not Label.objects.exists()


def test_an_agent_has_the_origin_that_its_token_gave_it(enrolment: Callable[..., Caller]) -> None:
    caller = enrolment(origin="local").enrol("w1")
    caller.register("w1", a_document("w1") | {"origin": "cloud"})
    assert Worker.objects.get().origin == "local"
    assert '"cloud"' not in json.dumps(Worker.objects.select_related("facts").get().facts.document)


def test_no_token_enrols_what_it_was_not_made_for(enrolment: Callable[..., Caller]) -> None:
    local = enrolment(origin="local")
    assert local.post("enroll", Caller.enrolment("w1", origin="cloud")).status_code in (403, 409, 422)
    assert local.post("enroll", Caller.enrolment("w1", simulated=True)).status_code in (403, 409, 422)
    assert not Worker.objects.exists()


@pytest.mark.parametrize("more", [
    {"duration_ms": 10**30}, {"duration_ms": -1}, {"log_size": 2**70}, {"exit_code": 2**40}, {"signal": -9},
    {"start_error": {"code": "x" * 1_000, "detail": "y" * 100_000}},
], ids=str)  # fmt: skip
def test_no_end_is_reported_with(agent: Caller, placed: Placed, more: dict[str, Any]) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    agent.ok(placed.path("started"), {**placed.guard, "pid": 1, "workdir": "/"})
    body = {**placed.guard, "exit_code": 0, "signal": None, "duration_ms": 1, "log_size": 0, "start_error": None,
            "timed_out": False} | more  # fmt: skip
    assert agent.post(placed.path("finish"), body).status_code == 422
    assert placed.row().state == "running"


def test_an_agent_that_reports_for_another_s_task_changes_nothing(
    agent: Caller, placed: Placed, enrolment: Callable[..., Caller]
) -> None:
    agent.ok(placed.path("claim"), placed.guard)
    eve = enrolment().enrol("w2")
    eve.register("w2")
    before, events = Task.objects.values().get(), Event.objects.exclude(subject_kind="access").count()
    guard = placed.guard | {"epoch": eve.epochs["w2"]}
    calls = {"claim": guard, "started": {**guard, "pid": 1, "workdir": "/"}, "release": guard,
             "decline": {**guard, "code": "x", "detail": ""}}  # fmt: skip
    for call, body in calls.items():
        assert eve.post(placed.path(call), body).status_code in (404, 409, 422), call
    beat = eve.beat("w2", running=[(placed.task, placed.fence)])
    told = eve.ok("heartbeat", beat)
    assert told["kill"] == [placed.task]
    assert told["assignments"] == []
    assert Task.objects.values().get() == before
    assert DeviceHold.objects.filter(released_at=None).count() == 1
    assert Event.objects.exclude(subject_kind="access").count() == events


def test_a_workers_credential_is_nobody_among_people(agent: Caller) -> None:
    for method, path in (
        ("GET", "jobs"),
        ("POST", "jobs"),
        ("POST", "tokens"),
        ("POST", "worker-tokens"),
        ("GET", "audit"),
    ):
        answer = Client().generic(
            method, f"/api/v1/{path}", json.dumps({"note": PASSWORD}), "application/json",
            headers={"Authorization": f"Bearer {agent.secret}"},
        )  # fmt: skip
        assert answer.status_code == 401, path
