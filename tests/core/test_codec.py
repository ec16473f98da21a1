"""What is written can be read again, to the last value and the last byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from scheduler.core.codec import (
    canonical_bytes,
    decision_from_document,
    decision_to_document,
    facts_to_document,
    job_to_document,
    worker_to_document,
)
from scheduler.core.decision import Assignment, Candidate, Listed, SchedulingDecision, Tier, TierStatus
from scheduler.core.errors import DocumentError
from scheduler.core.fleet import WorkerFacts, WorkerView
from scheduler.core.parsing import parse_job, parse_worker, parse_worker_facts
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import JobSpec, Origin, Policy
from tests.core.values import WORKERS, decisions, facts, few, jobs


def through_json(document: object) -> Any:
    return json.loads(canonical_bytes(document))


@few
@given(jobs())
def test_a_job_comes_back_from_its_document(spec: JobSpec) -> None:
    assert parse_job(through_json(job_to_document(spec, with_secrets=True))) == spec


@few
@given(jobs())
def test_a_job_s_document_keeps_no_secret_unless_asked(spec: JobSpec) -> None:
    assert "secrets" not in job_to_document(spec)


@few
@given(WORKERS)
def test_a_worker_comes_back_from_its_document(view: WorkerView) -> None:
    assert parse_worker(through_json(worker_to_document(view))) == view


@few
@given(facts())
def test_facts_come_back_from_their_document(known: WorkerFacts) -> None:
    assert parse_worker_facts(through_json(facts_to_document(known))) == known


@few
@given(decisions())
def test_a_decision_comes_back_from_either_form(decision: SchedulingDecision) -> None:
    for grouped in (False, True):
        document = decision_to_document(decision, grouped=grouped)
        read = decision_from_document(through_json(document))
        assert read == decision
        assert read.fingerprint == decision.fingerprint
        assert canonical_bytes(decision_to_document(read, grouped=grouped)) == canonical_bytes(document)


@few
@given(decisions())
def test_what_can_be_derived_is_never_read_back(decision: SchedulingDecision) -> None:
    document = through_json(decision_to_document(decision))
    document["outcome"] = "a lie"
    for candidate in document["candidates"]:
        candidate["verdict"] = "a lie"
        for reason in candidate["reasons"]:
            reason["message"] = "a lie"
    assert decision_from_document(document) == decision


def a_waiting_decision(*workers: str) -> SchedulingDecision:
    reason = Reason(
        code=Code.GPU_IN_USE, field="resources.gpus", required=2, actual=1, have=1, of=4, devices=(0, 1, 2),
        holders=("j-12", "j-15"),
    )  # fmt: skip
    return SchedulingDecision(
        job_id="j-7", policy=Policy.FIRST_FIT, ever_schedulable=True,
        tiers=(Tier("local", TierStatus.WAITING), Tier("remote", TierStatus.NEVER)),
        evidence=Listed(Candidate(worker=worker, reasons=(reason,)) for worker in workers),
    )  # fmt: skip


def test_a_decision_is_written_as_documented() -> None:
    assert decision_to_document(a_waiting_decision("gpu-07")) == {
        "version": 1, "job_id": "j-7", "policy": "first_fit", "outcome": "waiting", "ever_schedulable": True,
        "tiers": [{"name": "local", "status": "waiting"}, {"name": "remote", "status": "never"}],
        "assignments": [], "group_reasons": [], "job_reasons": [], "notes": [],
        "candidates": [
            {"worker": "gpu-07", "verdict": "unavailable", "key": None,
             "reasons": [{"code": "gpu_in_use", "field": "resources.gpus", "required": 2, "actual": 1, "unknown": False,
                          "have": 1, "of": 4, "devices": [0, 1, 2], "holders": ["j-12", "j-15"],
                          "message": "needs 2 GPUs, 1 of 4 is free: devices are in use by other tasks (j-12, j-15)"}]},
        ],
    }  # fmt: skip


def test_in_groups_workers_with_the_same_reasons_stand_together() -> None:
    (group,) = decision_to_document(a_waiting_decision("b", "a", "c"), grouped=True)["candidates"]
    assert group["workers"] == ["a", "b", "c"]
    assert "worker" not in group


def test_candidates_with_a_key_stand_alone_in_either_form() -> None:
    decision = SchedulingDecision(
        job_id="j", policy=Policy.FIRST_FIT, ever_schedulable=True, tiers=(Tier("local", TierStatus.PLACED),),
        assignments=(Assignment(worker="a"),),
        evidence=Listed([
            Candidate(worker="b", key=("b",)), Candidate(worker="a", selected=True, key=("a",)),
            Candidate(worker="c", key=("c",)),
        ]),
    )  # fmt: skip
    document = decision_to_document(decision, grouped=True)
    assert [candidate["worker"] for candidate in document["candidates"]] == ["a", "b", "c"]
    assert document == decision_to_document(decision)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": 2}, id="of another version"),
        pytest.param({"policy": "best_fit"}, id="with an unknown policy"),
        pytest.param({"tiers": [{"name": "local"}]}, id="with half a tier"),
        pytest.param({"candidates": [{"worker": "a", "reasons": [{"code": "bad_luck"}]}]}, id="with an unknown code"),
        pytest.param({"candidates": 3}, id="with a number of candidates"),
        pytest.param({"assignments": None}, id="without assignments"),
    ],
)
def test_no_decision_is_made_of_a_document(change: dict[str, object]) -> None:
    with pytest.raises(DocumentError):
        decision_from_document(decision_to_document(a_waiting_decision("a")) | change)


def test_canonical_bytes_are_sorted_dense_and_utf8() -> None:
    assert canonical_bytes({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'.encode()


def test_a_plain_job_says_only_what_it_asks() -> None:
    spec = JobSpec(name="one", command=("true",), target=Origin.LOCAL)
    assert job_to_document(spec) == {"name": "one", "command": ["true"], "target": "local"}


def test_sizes_are_written_so_that_people_read_them() -> None:
    document = {"name": "a", "command": ["b"], "target": "local", "resources": {"memory_gb": 32, "disk_gb": "81559MiB"}}
    assert job_to_document(parse_job(document)) == document


def test_instants_are_written_in_utc() -> None:
    view = WorkerView(
        facts=WorkerFacts(id="a", origin=Origin.LOCAL), state_since=datetime(2026, 11, 30, 18, tzinfo=UTC)
    )  # fmt: skip
    assert worker_to_document(view)["state_since"] == "2026-11-30T18:00:00Z"
