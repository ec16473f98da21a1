"""What a decision was made from, over the people's API."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler.core.codec import canonical_bytes, decision_to_document
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.core.schedule import schedule
from tests.api.callers import Caller
from tests.api.test_people import JOB, caller_of, decide

pytestmark = pytest.mark.django_db


def test_the_inputs_make_the_decision_again(mira: User, agent: Caller) -> None:
    as_mira = caller_of(mira)
    job = as_mira("POST", "jobs", {**JOB, "resources": {"gpus": 1}, "env": {"A": "secret"}}).json()["job_id"]
    assert as_mira("GET", f"jobs/{job}/replay").json()["code"] == "no_decision"
    decide()
    found = as_mira("GET", f"jobs/{job}/replay").json()
    entry = parse_queue_entry(found["entry"], position=1)
    again = schedule(entry, tuple(map(parse_worker, found["workers"])), entry.job_id)
    assert canonical_bytes(decision_to_document(again)) == canonical_bytes(found["decision"])
    assert (found["intact"], found["same_rules"], found["today"]) == (True, True, None)
    assert entry.holders == ("user:mira",)
    assert "secret" not in str(found)
    (today,) = as_mira("GET", f"jobs/{job}/replay?today=true").json()["today"]
    assert [task["job_id"] for task in today["tasks"]] == [job]


def test_any_signed_in_user_may_ask_and_no_stranger(mira: User, agent: Caller) -> None:
    job = caller_of(mira)("POST", "jobs", JOB).json()["job_id"]
    decide()
    assert caller_of(User.objects.create_user("eve"))("GET", f"jobs/{job}/replay").status_code == 200
    assert Client().get(f"/api/v1/jobs/{job}/replay").status_code == 401
    assert caller_of(mira)("GET", "jobs/j-99/replay").json()["code"] == "no_such_job"
