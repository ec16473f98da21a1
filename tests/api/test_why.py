"""Every answer to why, over the people's API: the core's own values of the kept decision, and nothing written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.core.matrix import Matrix
from scheduler.core.rollup import roll_up
from scheduler.core.schedule import run_pass
from scheduler.core.why import PARTS, part, to_document
from scheduler.core.why_not import WhyNot
from scheduler.core.why_reading import from_document
from scheduler.models import Job, Task
from scheduler.queue import take_queue
from scheduler.services.holding import release
from scheduler.services.recorded import recorded
from scheduler.services.whys import grounds_of
from scheduler.snapshot import take_fleet
from tests.api.test_people import Person, caller_of, decide
from tests.factories import a_job, a_pass, a_user, a_worker, changed

pytestmark = pytest.mark.django_db

KINDS: dict[str, dict[str, Any]] = {
    "placed": {"gpus": 1},
    "waiting": {"gpus": 4},
    "never fits": {"gpus": 4, "resources": {"gpu_memory_gb": 800}},
    "a gang": {"gpus": 1, "distributed": {"num_workers": 3, "comm_backend": "nccl"}},
    "a label that nobody has": {"gpus": 1, "placement": {"worker_labels": {"zone": "b"}}},
}


@pytest.fixture
def mira(db: None) -> User:
    return a_user("mira")


@pytest.fixture
def as_mira(mira: User) -> Person:
    return caller_of(mira)


@pytest.fixture
def machines(db: None) -> None:
    """Three that are online, one of which runs something."""
    now = timezone.now()
    for name, gpus in (("w1", "4xA100"), ("w2", "2xT4"), ("w3", "1xH100")):
        a_worker(name, gpus=gpus, seen=now, labels={"zone": "a"})
    a_job(at=now)
    decide()


def job(mira: User, **asks: Any) -> Job:
    made = a_job(owner=mira, at=timezone.now(), **asks)
    decide()
    made.refresh_from_db()
    return made


def ended(of: Job) -> None:
    """Its task has ended and let go."""
    task = Task.objects.get(attempt__job=of)
    changed(task, claimed_at=timezone.now(), state="succeeded", finished_at=timezone.now())
    release([task], now=timezone.now())


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_it_is_what_the_core_says_of_the_kept_decision(
    as_mira: Person, mira: User, machines: None, kind: str
) -> None:
    row = job(mira, **KINDS[kind])
    found = as_mira("GET", f"jobs/{row.job_id}/why").json()
    kept = recorded(row)
    assert kept
    grounds = grounds_of(kept, row, user=mira, now=timezone.now())
    for name in PARTS:
        if name != "passed_over":  # how long it waits goes on
            assert found["why"][name] == to_document(part(name, grounds)), name
    assert (found["job_id"], found["state"], found["kept"]["id"]) == (row.job_id, row.state, kept.row.pk)
    assert found["decision"]["candidates"]
    assert found["kept"]["lead"] == found["why"]["answer"]["lead"]


def test_parts_by_name_and_checks_by_group(as_mira: Person, mira: User, machines: None) -> None:
    path = f"jobs/{job(mira, gpus=4).job_id}/why"
    found = as_mira("GET", f"{path}?part=matrix&part=relaxations&group_by=label:zone").json()
    assert {name for name, value in found["why"].items() if value is not None} == {"matrix", "relaxations"}
    assert found["decision"] is None
    assert from_document(Matrix, found["why"]["matrix"]).columns == (("zone=a", 3),)
    for grouping in ("gpu", "tier", "torch", "worker"):
        answer = as_mira("GET", f"{path}?part=matrix&group_by={grouping}").json()
        assert answer["why"]["matrix"]["grouping"] == grouping


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("part=everything", "part.0"), ("group_by=colour", "group_by"), ("group_by=label:", "group_by"),
        ("group_by=label:a%00", "group_by"), ("decision=0", "decision"), ("decision=x", "decision"),
    ],
)  # fmt: skip
def test_wrong_questions_are_named(as_mira: Person, mira: User, machines: None, query: str, where: str) -> None:
    answer = as_mira("GET", f"jobs/{job(mira).job_id}/why?{query}")
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [where]


def test_one_worker_check_by_check(as_mira: Person, mira: User, machines: None) -> None:
    row = job(mira, resources={"gpu_memory_gb": 40})
    answer = as_mira("GET", f"jobs/{row.job_id}/why-not/w2").json()
    found = from_document(WhyNot, answer["why_not"])
    assert found.lead == "w2 can never run it, as both stand: 1 of 7 checks that were asked failed."
    assert [line["code"] for line in answer["why_not"]["checks"] if line["status"] == "failed"] == ["gpu_memory"]
    assert found.in_the_job[0].changes[0].label == "GPU memory"


@pytest.mark.parametrize("path", ["why", "why-not/w1", "differences"])
def test_what_is_not_there_is_said(as_mira: Person, mira: User, path: str) -> None:
    row = a_job(owner=mira, at=timezone.now())
    assert as_mira("GET", f"jobs/{row.job_id}/{path}").json()["code"] == "no_decision"
    assert as_mira("GET", f"jobs/j-0/{path}").json()["code"] == "no_such_job"
    decide()
    key = "later" if path == "differences" else "decision"
    assert as_mira("GET", f"jobs/{row.job_id}/{path}?{key}=99999999").json()["code"] == "no_such_decision"
    assert Client().get(f"/api/v1/jobs/{row.job_id}/{path}").status_code == 401


def test_a_worker_that_was_not_known_then(as_mira: Person, mira: User, machines: None) -> None:
    row = job(mira)
    a_worker("late", seen=timezone.now())
    for name in ("late", "nobody", "a/b", "%00"):
        answer = as_mira("GET", f"jobs/{row.job_id}/why-not/{name}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_worker"), name


def test_differences_between_kept_decisions(as_mira: Person, mira: User) -> None:
    a_worker("w1", gpus="1xA100", seen=timezone.now(), heartbeat_seconds=3600)
    holder, row = job(mira), job(mira)
    found = as_mira("GET", f"jobs/{row.job_id}/differences").json()
    assert (len(found["decisions"]), found["earlier"], found["difference"]) == (1, None, None)
    a_worker("w2", gpus="1xT4", seen=timezone.now(), heartbeat_seconds=3600, intent="draining")
    a_pass(timezone.now() + timedelta(minutes=2))
    ended(holder)
    a_pass(timezone.now() + timedelta(minutes=4))
    found = as_mira("GET", f"jobs/{row.job_id}/differences").json()
    last, middle, first = (kept["id"] for kept in found["decisions"])
    assert (found["earlier"], found["later"]) == (middle, last)
    assert [(one["worker"], one["headline"], one["causes"]) for one in found["difference"]["changed"]] == [
        ("w1", "w1 came free and was chosen", [f"{holder.job_id} released device 0"])
    ]
    whole = as_mira("GET", f"jobs/{row.job_id}/differences?earlier={first}&later={last}").json()["difference"]
    assert [one["headline"] for one in whole["changed"]] == ["w1 came free and was chosen", "w2 joined the fleet"]
    before = as_mira("GET", f"jobs/{row.job_id}/differences?later={middle}").json()
    assert (before["earlier"], before["difference"]["outcome_after"]) == (first, "waiting")
    other = as_mira("GET", f"jobs/{holder.job_id}/differences?earlier={first}")
    assert other.json()["code"] == "no_such_decision"
    kept = as_mira("GET", f"jobs/{row.job_id}/why?decision={first}").json()
    assert kept["why"]["answer"]["state"] == "waiting"


def test_the_whole_queue(as_mira: Person, mira: User) -> None:
    assert as_mira("GET", "rollup").json()["code"] == "no_pass"
    a_worker("w1", gpus="2xA100", seen=timezone.now())
    holder = job(mira, gpus=2)
    for asks in ({"gpus": 2}, {"gpus": 1}, {"gpus": 1}, {"gpus": 16}):
        job(mira, **asks)
    found = as_mira("GET", "rollup").json()
    entries = [queued.entry for queued in take_queue() if queued.entry]
    fleet = take_fleet(now=timezone.now()).fleet()
    decided = [(result.entry, result.decision) for result in run_pass(entries, fleet)]
    assert found["rollup"] == to_document(roll_up(decided, fleet))
    assert (found["rollup"]["waiting"], found["rollup"]["never"]) == (3, 1)
    assert (found["rollup"]["levers"][0]["subject"], found["rollup"]["levers"][0]["kind"]) == (holder.job_id, "release")
    with CaptureQueriesContext(connection) as again:
        assert as_mira("GET", "rollup").json() == found
    assert len(again) <= 6


def test_nothing_is_written_and_the_questions_do_not_grow_with_the_fleet(
    as_mira: Person, mira: User, machines: None
) -> None:
    row = job(mira, gpus=4)
    counts = {}
    for more in (1, 40):
        for number in range(more):
            a_worker(f"more-{more}-{number}", gpus="1xT4", seen=timezone.now())
        decide()
        for path in (f"jobs/{row.job_id}/why", f"jobs/{row.job_id}/why-not/w1", f"jobs/{row.job_id}/differences"):
            as_mira("GET", path)
            with CaptureQueriesContext(connection) as asked:
                assert as_mira("GET", path).status_code == 200
            written = [one["sql"] for one in asked if not one["sql"].startswith("SELECT")]
            assert [sql for sql in written if "accounts_apitoken" not in sql.lower()] == []
            counts.setdefault(path.split("/")[2], set()).add(len(asked))
    assert {path: max(found) - min(found) for path, found in counts.items()} == dict.fromkeys(counts, 0)


def test_edited_documents_keep_values_from_strangers(as_mira: Person, mira: User, machines: None) -> None:
    path = f"jobs/{job(mira, gpus=4, env={'TOKEN': 'hidden'}).job_id}"
    for tail in ("why", "why-not/w2"):
        assert "hidden" in as_mira("GET", f"{path}/{tail}").content.decode()
        assert "hidden" not in caller_of(a_user("eve"))("GET", f"{path}/{tail}").content.decode()
