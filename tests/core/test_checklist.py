"""One job against one worker: every check once, passed, failed or not asked."""

from __future__ import annotations

import pytest
from hypothesis import given

from scheduler.core.checklist import CHECKED, Status, checklist
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Code, Kind
from scheduler.core.rule import decide
from scheduler.core.spec import QueueEntry
from tests.core.builders import GB, a_job, a_worker, an_environment, devices, with_device
from tests.core.values import WORKERS, few, jobs

PASSED, FAILED, NOT_ASKED = Status


def statuses(job: QueueEntry, worker: WorkerView) -> dict[Code, Status]:
    return {check.code: check.status for check in checklist(job, worker)}


def test_a_job_that_asks_for_nothing_is_asked_little() -> None:
    found = statuses(a_job(), a_worker())
    assert tuple(found) == CHECKED
    assert {code.text for code, status in found.items() if status is PASSED} == {
        "target", "reserved", "environment", "offline", "draining", "unhealthy", "reserved_until",
        "reserved_from", "slots", "tier_closed",
    }  # fmt: skip
    assert FAILED not in found.values()


@pytest.mark.parametrize(
    ("job", "worker", "code", "status"),
    [
        pytest.param(a_job(memory=GB), a_worker(), Code.MEMORY, PASSED, id="enough RAM"),
        pytest.param(a_job(memory=GB), a_worker(memory_bytes=None), Code.MEMORY, FAILED, id="unknown RAM"),
        pytest.param(a_job(), a_worker(memory_bytes=None), Code.MEMORY, NOT_ASKED, id="RAM not asked"),
        pytest.param(a_job(gpus=1, gpu_memory=GB), a_worker(), Code.GPU_MEMORY, PASSED, id="enough GPU memory"),
        pytest.param(a_job(gpus=2, gpu_memory=GB), a_worker(), Code.GPU_MEMORY, NOT_ASKED, id="too few devices"),
        pytest.param(
            a_job(gpus=1, gpu_memory=GB), a_worker(gpus=with_device(devices("T4"), 0, mig=True)), Code.GPU_MEMORY,
            NOT_ASKED, id="too few whole devices",
        ),
        pytest.param(
            a_job(gpus=1, gpu_memory=99 * GB), a_worker(), Code.GPU_COMBINATION, NOT_ASKED, id="one alone not met"
        ),
        pytest.param(
            a_job(environment="train", python=">=3"), a_worker(), Code.PYTHON, NOT_ASKED, id="no such environment"
        ),
        pytest.param(a_job(gang=1), a_worker(environment=an_environment(None)), Code.DIST_TORCH, FAILED, id="no torch"),
        pytest.param(a_job(), a_worker(), Code.DIST_ADDRESS, NOT_ASKED, id="not distributed"),
        pytest.param(a_job(), a_worker(online=False), Code.OFFLINE, FAILED, id="offline"),
        pytest.param(a_job(os="macos"), a_worker(online=False), Code.OFFLINE, NOT_ASKED, id="offline, and never fits"),
        pytest.param(a_job(gpus=1), a_worker(busy=[0]), Code.GPU_IN_USE, FAILED, id="busy"),
        pytest.param(a_job(gpus=1), a_worker(busy=[0]), Code.GPU_FOREIGN, PASSED, id="busy, not with others"),
        pytest.param(a_job(failed_on=["w1"]), a_worker(), Code.FAILED_HERE, PASSED, id="failed here, nowhere to go"),
    ],
)  # fmt: skip
def test_a_check_is_passed_failed_or_not_asked(job: QueueEntry, worker: WorkerView, code: Code, status: Status) -> None:
    assert statuses(job, worker)[code] is status


@few
@given(jobs(), WORKERS)
def test_it_says_what_the_decision_says(spec: object, worker: WorkerView) -> None:
    entry = QueueEntry(job_id="j-1", spec=spec)  # type: ignore[arg-type]
    checks = checklist(entry, worker)
    (candidate,) = decide(entry, (worker,)).candidates
    never = any(reason.code.kind is Kind.CAPABILITY for reason in candidate.reasons)
    assert tuple(reason for check in checks for reason in check.reasons) == candidate.reasons
    for check in checks:
        assert bool(check.reasons) == (check.status is FAILED)
        assert bool(check.why_not_asked) == (check.status is NOT_ASKED)
        if never and check.code.kind is Kind.AVAILABILITY:
            assert check.status is NOT_ASKED
