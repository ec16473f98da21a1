"""The people's API: submitting, looking, cancelling, and who may do what."""

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
from scheduler.services.passes import run_pass
from tests.api.callers import Caller, Placed
from workers.models import Intent, Worker

pytestmark = pytest.mark.django_db

Person = Callable[..., Any]
JOB: dict[str, Any] = {"name": "train", "command": ["python", "train.py"], "target": "local"}


@pytest.fixture
def as_mira(mira: User) -> Person:
    """Mira's calls, with a token."""
    return caller_of(mira)


@pytest.fixture
def as_operator(db: None) -> Person:
    return caller_of(User.objects.create_user("ada", is_staff=True))


def caller_of(user: User) -> Person:
    _, secret = create_token(user=user, note="a test", now=timezone.now())
    client = Client()

    def call(method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str) -> Any:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {secret}", **headers}
        return client.generic(method, f"/api/v1/{path}", data, content_type=kind, headers=headers)

    return call


def decide() -> None:
    run_pass(now=timezone.now(), holder="test")


def test_a_job_is_submitted_as_json_or_yaml(as_mira: Person) -> None:
    first = as_mira("POST", "jobs", JOB)
    yaml = b"name: train\ncommand: [python, train.py]\ntarget: local\n"
    second = as_mira("POST", "jobs", yaml, "application/yaml")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["spec"] == second.json()["spec"]
    assert first.json()["state"] == "queued"
    assert first.json()["owner"] == "mira"
    assert as_mira("GET", f"jobs/{first.json()['job_id']}").json() == first.json()


def test_every_problem_of_a_document_is_told_at_once(as_mira: Person) -> None:
    answer = as_mira("POST", "jobs", {"name": "x", "command": "python", "target": "moon", "gpus": 1})
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert answer.json()["code"] == "document_invalid"
    assert {item["path"] for item in answer.json()["problems"]} == {"command", "target", "gpus"}


def test_the_same_key_submits_once(as_mira: Person) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = as_mira("POST", "jobs", JOB, **key)
    assert as_mira("POST", "jobs", JOB, **key).json()["job_id"] == first.json()["job_id"]
    other = as_mira("POST", "jobs", {**JOB, "name": "other"}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert Job.objects.count() == 1


def test_jobs_are_listed_newest_first_a_page_at_a_time(as_mira: Person) -> None:
    ids = [as_mira("POST", "jobs", JOB).json()["job_id"] for _ in range(3)]
    first = as_mira("GET", "jobs?limit=2").json()
    assert [job["job_id"] for job in first["items"]] == [ids[2], ids[1]]
    second = as_mira("GET", f"jobs?limit=2&after={first['next']}").json()
    assert ([job["job_id"] for job in second["items"]], second["next"]) == ([ids[0]], None)
    assert as_mira("GET", "jobs?state=running").json()["items"] == []


def test_the_decision_names_every_candidate_with_its_reasons(as_mira: Person, agent: Caller) -> None:
    job = as_mira("POST", "jobs", {**JOB, "resources": {"gpus": 9}}).json()["job_id"]
    before = as_mira("GET", f"jobs/{job}/decision")
    assert (before.status_code, before.json()["code"]) == (404, "no_decision")
    decide()
    decision = as_mira("GET", f"jobs/{job}/decision").json()
    assert decision["outcome"] == "unschedulable"
    (candidate,) = decision["candidates"]
    assert candidate["worker"] == "w1"
    assert [reason["code"] for reason in candidate["reasons"]] == ["gpu_count"]
    assert decision["answer"]["state"] == "never"
    assert decision["funnel"][0]["key"] == "workers"
    grouped = as_mira("GET", f"jobs/{job}/decision?grouped=true").json()
    assert grouped["candidates"][0]["workers"] == ["w1"]
    assert as_mira("GET", f"jobs/{job}").json()["answer"] == decision["answer"]["lead"]


def test_a_placed_job_says_where_it_runs(as_mira: Person, agent: Caller) -> None:
    job = as_mira("POST", "jobs", {**JOB, "resources": {"gpus": 1}}).json()["job_id"]
    decide()
    found = as_mira("GET", f"jobs/{job}").json()
    assert (found["state"], found["worker"], found["devices"]) == ("assigned", "w1", [0])


def test_its_owner_and_operators_may_cancel_a_job(as_mira: Person, as_operator: Person) -> None:
    as_eve = caller_of(User.objects.create_user("eve"))
    mine, other = (as_mira("POST", "jobs", JOB).json()["job_id"] for _ in range(2))
    refused = as_eve("POST", f"jobs/{mine}/cancel")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_yours")
    assert as_mira("POST", f"jobs/{mine}/cancel").json()["state"] == "cancelled"
    assert as_operator("POST", f"jobs/{other}/cancel").json()["state"] == "cancelled"
    assert as_mira("POST", f"jobs/{mine}/cancel").status_code == 200


def test_its_owner_and_operators_may_delete_a_job_that_is_over(as_mira: Person, as_operator: Person) -> None:
    as_eve = caller_of(User.objects.create_user("eve"))
    mine, other = (as_mira("POST", "jobs", JOB).json()["job_id"] for _ in range(2))
    assert as_mira("DELETE", f"jobs/{mine}").json()["code"] == "job_not_over"
    for job_id in (mine, other):
        as_mira("POST", f"jobs/{job_id}/cancel")
    refused = as_eve("DELETE", f"jobs/{mine}")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_yours")
    assert as_mira("DELETE", f"jobs/{mine}").status_code == 204
    assert as_operator("DELETE", f"jobs/{other}").status_code == 204
    assert as_mira("DELETE", f"jobs/{mine}").json()["code"] == "no_such_job"
    assert not Job.objects.exists()


def test_workers_are_listed_with_what_runs_on_them(as_mira: Person, agent: Caller, placed: Placed) -> None:
    (row,) = as_mira("GET", "workers").json()["items"]
    assert (row["name"], row["state"], row["gpus_free"], row["gpus_total"]) == ("w1", ["online"], 1, 2)
    assert [task["job_id"] for task in row["tasks"]] == [placed.job.job_id]
    detail = as_mira("GET", "workers/w1").json()
    assert [device["uuid"] for device in detail["devices"]] == ["GPU-w1-0", "GPU-w1-1"]
    assert detail["document"]["os"] == "linux"


def test_only_operators_let_workers_in_and_drain_them(as_mira: Person, as_operator: Person, agent: Caller) -> None:
    for path, body in (("worker-tokens", {}), ("workers/w1/drain", {"note": "new disk"}), ("workers/w1/undrain", None)):
        refused = as_mira("POST", path, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "operators_only")
    token = as_operator("POST", "worker-tokens", {"uses": 2, "simulated": True, "note": "a fleet"}).json()["token"]
    Caller(token).enrol("sim-1", "sim-2", simulated=True)
    assert as_operator("POST", "workers/w1/drain", {"note": "new disk"}).json()["intent"] == Intent.DRAINING
    assert agent.ok("heartbeat", agent.beat())["drain"] is True
    assert as_operator("POST", "workers/w1/undrain").json()["intent"] == Intent.ACTIVE
    assert Worker.objects.get(name="w1").intent_note == ""


def test_a_caller_learns_who_it_is_and_may_make_a_token(as_mira: Person) -> None:
    assert as_mira("GET", "whoami").json() == {
        "username": "mira", "role": "submitter", "operator": False, "scopes": ["read", "jobs", "fleet", "people"],
        "teams": [],
    }  # fmt: skip
    assert as_mira("POST", "tokens", {"note": "laptop"}).json()["token"].startswith("glu_")


def test_a_browser_session_needs_the_csrf_token(mira: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    assert client.get("/api/v1/whoami").status_code == 200
    for kind in ("application/json", "text/plain"):
        refused = client.post("/api/v1/jobs", json.dumps(JOB), content_type=kind)
        assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/api/v1/jobs", 401, id="nobody"),
        pytest.param("GET", "/api/v1/nothing", 404, id="no such path"),
        pytest.param("GET", "/api/", 404, id="no such interface"),
        pytest.param("DELETE", "/api/v1/jobs", 405, id="wrong method"),
    ],
)
def test_errors_are_problems_for(db: None, method: str, path: str, status: int) -> None:
    answer = Client().generic(method, path)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["status"] == status
    assert answer.json()["code"]


def test_a_worker_credential_is_nobody_to_the_peoples_api_and_the_other_way_round(agent: Caller, mira: User) -> None:
    _, secret = create_token(user=mira, note="", now=timezone.now())
    assert Client(headers={"Authorization": f"Bearer {agent.secret}"}).get("/api/v1/jobs").status_code == 401
    assert Caller(secret).get("assignments").status_code == 401


@pytest.mark.parametrize(
    ("path", "field", "found", "expected"),
    [
        ("jobs?state=nope", "state", "'nope'", "'queued'"),
        ("jobs?after=zzz", "after", "'zzz'", "text that matches"),
        ("jobs/j-1/log?offset=-1", "offset", "'-1'", "greater than or equal to 0"),
        ("jobs/j-1/decision?grouped=maybe", "grouped", "'maybe'", "a valid boolean"),
    ],
)
def test_a_wrong_parameter_is_told_with_what_was_found(
    as_mira: Person, path: str, field: str, found: str, expected: str
) -> None:
    answer = as_mira("GET", path)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the request is not accepted: one thing is wrong"
    [problem] = answer.json()["problems"]
    assert (problem["path"], problem["found"]) == (field, found)
    assert problem["expected"].startswith(expected)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_path_that_is_none_is_not_found_whatever_the_method(mira: User, method: str) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.generic(method, "/api/v1/nope", headers={"Authorization": "Bearer glu_x"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
