"""What nobody should send is refused with a 4xx that says why: the same on every database, and never a 500."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.tokens import create_token
from scheduler.models import Job
from tests.api.callers import Caller, Placed, a_document

pytestmark = pytest.mark.django_db

JOB = b'{"name": %s, "command": ["true"], "target": "local"}'
DEEP = b"[" * 200_000 + b"]" * 200_000

HOSTILE_JSON = [
    pytest.param(JOB % b'"a\\u0000b"', id="NUL"),
    pytest.param(JOB % b'"a\\ud800"', id="half a surrogate pair"),
    pytest.param(JOB % b'"a\\u202eb"', id="text that runs backwards"),
    pytest.param(JOB % b"18446744073709551616", id="a number beyond 64 bits"),
    pytest.param(JOB % (b"9" * 5000), id="a number of 5,000 digits"),
    pytest.param(JOB % b"NaN", id="NaN"),
    pytest.param(JOB % b"1e999", id="infinity"),
    pytest.param(JOB % b'"a", "name": "b"', id="a key twice"),
    pytest.param(JOB % b'"a", "owner": "root"', id="an unknown field"),
    pytest.param(JOB % (b'"' + b"x" * 100_000 + b'"'), id="a name of 100,000 characters"),
    pytest.param(DEEP[:200_000], id="a deep nesting that does not end"),
    pytest.param(b"[" * 500 + b"]" * 500, id="a deep nesting"),
    pytest.param(b"", id="nothing"),
    pytest.param(b"null", id="null"),
    pytest.param(b"\xff\xfe{}", id="no UTF-8"),
    pytest.param(b"{", id="half an object"),
]


@pytest.fixture
def as_mira(mira: User) -> Client:
    _, secret = create_token(user=mira, note="a test", now=timezone.now())
    return Client(headers={"Authorization": f"Bearer {secret}"})


def refused(answer: Any) -> None:
    assert 400 <= answer.status_code < 500, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["detail"]


@pytest.mark.parametrize("body", HOSTILE_JSON)
def test_a_job_is_refused_for(as_mira: Client, body: bytes) -> None:
    refused(as_mira.post("/api/v1/jobs", body, content_type="application/json"))
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", HOSTILE_JSON)
def test_every_call_of_an_agent_is_refused_for(agent: Caller, placed: Placed, body: bytes) -> None:
    for path in ("register", "heartbeat", "fleet/heartbeat", placed.path("claim"), placed.path("finish")):
        refused(agent.post(path, body))
    assert placed.row().state == "assigned"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"!!python/object/apply:os.system ['true']", id="a Python object"),
        pytest.param(b"a: &a [x, x]\nb: [*a, *a]\nname: *a\n", id="aliases"),
        pytest.param(b"name: a\nname: b\ncommand: ['true']\ntarget: local\n", id="a key twice"),
        pytest.param(b'name: "a\\0b"\ncommand: ["true"]\ntarget: local\n', id="NUL"),
        pytest.param(b"name: .nan\ncommand: ['true']\ntarget: local\n", id="NaN"),
        pytest.param(b"{a: " * 300 + b"1" + b"}" * 300, id="a deep nesting"),
        pytest.param(b"- x\n" * 20_000, id="too many values"),
    ],
)
def test_a_job_in_yaml_is_refused_for(as_mira: Client, body: bytes) -> None:
    refused(as_mira.post("/api/v1/jobs", body, content_type="application/yaml"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"CONTENT_LENGTH": str(256 * 1024 + 1)}, 413, id="more than 256 KiB"),
        pytest.param({"CONTENT_LENGTH": "9" * 400}, 413, id="a length of 400 digits"),
        pytest.param({"CONTENT_LENGTH": "-1"}, 400, id="a negative length"),
        pytest.param({"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}, 411, id="chunks of unknown length"),
        pytest.param({"HTTP_CONTENT_ENCODING": "gzip"}, 415, id="a compressed body"),
        pytest.param({"CONTENT_TYPE": "text/html"}, 415, id="another kind of body"),
    ],
)
def test_a_body_is_refused_by_its_headers_for(as_mira: Client, headers: dict[str, str], status: int) -> None:
    answer = as_mira.generic("POST", "/api/v1/jobs", b"{}", "application/json", **headers)  # type: ignore[arg-type]
    refused(answer)
    assert answer.status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "jobs?state=sleeping", "jobs?q=%00", "jobs?limit=0", "jobs?limit=99999999999999999999", "jobs?limit=x",
        "jobs?after=j-99999999999999999999", "jobs?after=%27%20or%201", "jobs?owner=%00", "jobs/j-0", "jobs/j-%00",
        "jobs/j-99999999999999999999", "jobs/j-1%2F..%2F..", "jobs/%F0%9F%92%A9", "jobs/j-1/decision",
        "jobs/j-1/log?offset=-1", "jobs/j-1/log?offset=1e9", "workers?after=%00", "workers?q=%1b", "workers/%00",
        "workers/nobody", "workers/" + "x" * 3000,
    ],
)  # fmt: skip
def test_a_path_or_query_is_refused(as_mira: Client, path: str) -> None:
    refused(as_mira.get(f"/api/v1/{path}"))


@pytest.mark.parametrize("task", ["0", "-1", "x", "1.5", str(2**63), str(2**70), "%00"])
def test_a_task_number_is_refused(agent: Caller, task: str) -> None:
    refused(agent.post(f"tasks/{task}/claim", {"fence": 1, "epoch": 1}))


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb", "caf\u00e9\x00"])
def test_an_idempotency_key_is_taken_or_refused_but_never_breaks_anything(as_mira: Client, key: str) -> None:
    body = JOB % b'"a job"'
    answer = as_mira.post("/api/v1/jobs", body, content_type="application/json", HTTP_IDEMPOTENCY_KEY=key)
    assert answer.status_code in (201, 422)


@pytest.mark.parametrize(
    "field", ["id", "owner", "team", "role", "is_staff", "state", "fence", "worker", "priority", "job_id", "holders"]
)
def test_nobody_assigns_what_is_not_theirs_to_say(as_mira: Client, agent: Caller, placed: Placed, field: str) -> None:
    job = {"name": "a job", "command": ["true"], "target": "local", field: 1}
    refused(as_mira.post("/api/v1/jobs", json.dumps(job), content_type="application/json"))
    refused(as_mira.post("/api/v1/tokens", json.dumps({field: 1}), content_type="application/json"))
    if field != "fence":
        refused(agent.post(placed.path("claim"), {**placed.guard, field: 1}))
    if field != "worker":
        refused(agent.post("heartbeat", {**agent.beat(), field: 1}))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"cpu_cores": -1}, id="less than no core"),
        pytest.param({"memory": 2**70}, id="a memory beyond 64 bits"),
        pytest.param({"memory": "-5GB"}, id="a negative memory"),
        pytest.param({"labels": {"a" * 300: "b"}}, id="a label that is too long"),
        pytest.param({"labels": {"a": 1}}, id="a label that is no text"),
        pytest.param({"devices": [{"index": 0}, {"index": 0}]}, id="one index for two devices"),
        pytest.param({"devices": [{"index": 2**40}]}, id="an index beyond reason"),
        pytest.param({"environments": {"x": {"python": 3.1}}}, id="a version that is a number"),
    ],
)
def test_facts_are_refused_for(agent: Caller, facts: dict[str, Any]) -> None:
    refused(agent.post("register", Caller.registration("w1", a_document(**facts))))


def test_the_longest_names_and_values_that_are_allowed_can_be_stored(
    enrolment: Callable[..., Caller], agent: Caller, as_mira: Client
) -> None:
    name = "w" * 253
    other = enrolment().enrol(name)
    other.register(name, a_document(name), boot="b" * 100)
    assert enrolment().post("enroll", {**Caller.enrolment("w2"), "machine": "m" * 200}).status_code == 200
    note = {"index": 0, "health_note": "n" * 500}
    assert other.post("heartbeat", other.beat(name, devices=[note])).status_code == 200
    device = {"index": 0, "uuid": "u" * 500, "model": "m" * 500, "health_note": "h" * 500}
    agent.register("w1", a_document(labels={"k" * 253: "v" * 253}, devices=[device], provider="p" * 500))
    body = json.dumps({"name": "n" * 253, "command": ["c" * 100_000], "target": "local"})
    assert as_mira.post("/api/v1/jobs", body, content_type="application/json").status_code == 201
