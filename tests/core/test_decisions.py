"""Where one job goes, and what is said of every tier and worker: by the plain rule and by the fast passes alike."""

from __future__ import annotations

import pytest

from scheduler.core.decision import Outcome, SchedulingDecision, Verdict
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.reasons import Code
from scheduler.core.schedule import ever_schedulable
from scheduler.core.spec import Policy, QueueEntry
from tests.core.builders import GB, a_job, a_worker, an_environment, devices, with_device
from tests.core.conftest import Decide

C = Code


def tiers(decision: SchedulingDecision) -> dict[str, str]:
    return {tier.name: tier.status.value for tier in decision.tiers}


def codes(decision: SchedulingDecision, worker: str) -> list[Code]:
    return [reason.code for reason in decision.candidate(worker).reasons]


def places(decision: SchedulingDecision) -> list[tuple[str, tuple[int, ...]]]:
    return [(place.worker, place.devices) for place in decision.assignments]


local, remote, cloud = a_worker("l1"), a_worker("r1", origin="remote"), a_worker("c1", origin="cloud")
full = a_worker("l1", busy=[0])
small = a_worker("l1", gpus="T4")
everywhere = ("remote", "cloud")
big = 40 * GB

TIERS = [
    pytest.param(
        a_job(gpus=1, fallback=everywhere), [cloud, remote, local], "l1",
        {"local": "placed", "remote": "not_needed", "cloud": "not_needed"}, id="the target comes first",
    ),
    pytest.param(
        a_job(gpus=1, fallback=everywhere), [cloud, remote, full], "r1",
        {"local": "waiting", "remote": "placed", "cloud": "not_needed"}, id="a full target sends the job on",
    ),
    pytest.param(
        a_job(gpus=1, fallback=everywhere, fallback_when="incompatible"), [cloud, remote, full], None,
        {"local": "waiting", "remote": "closed", "cloud": "closed"}, id="unless only incapacity does",
    ),
    pytest.param(
        a_job(gpus=1, gpu_memory=big, fallback=everywhere, fallback_when="incompatible"), [cloud, remote, small], "r1",
        {"local": "never", "remote": "placed", "cloud": "closed"}, id="a target that never can opens the next alone",
    ),
    pytest.param(
        a_job(gpus=1, fallback=["remote"], fallback_when="incompatible"), [remote, local], "l1",
        {"local": "placed", "remote": "closed"}, id="a target that was chosen keeps the next closed",
    ),
    pytest.param(
        a_job(gpus=8, fallback=everywhere), [cloud, remote, local], None,
        {"local": "never", "remote": "never", "cloud": "never"}, id="no tier ever can",
    ),
    pytest.param(a_job(gpus=1), [remote], None, {"local": "never"}, id="no worker in the tier"),
    pytest.param(a_job(), [], None, {"local": "never"}, id="no worker at all"),
    pytest.param(
        a_job(gpus=1, target="cloud", fallback=["local"]), [local, cloud], "c1",
        {"cloud": "placed", "local": "not_needed"}, id="the order is the job's own",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fleet", "worker", "expected"), TIERS)
def test_tiers(
    decide: Decide, job: QueueEntry, fleet: list[WorkerView], worker: str | None, expected: dict[str, str]
) -> None:
    decision = decide(job, fleet)
    assert tiers(decision) == expected
    assert [place.worker for place in decision.assignments] == ([worker] if worker else [])


def test_a_closed_tiers_workers_carry_it_beside_what_else_keeps_them(decide: Decide) -> None:
    fleet = [full, remote, a_worker("r2", origin="remote", draining=True), a_worker("r3", origin="remote", gpus="T4")]
    decision = decide(a_job(gpus=1, gpu_memory=big, fallback=["remote"], fallback_when="incompatible"), fleet)
    assert [codes(decision, worker) for worker in ("r1", "r2", "r3")] == [
        [C.TIER_CLOSED], [C.DRAINING, C.TIER_CLOSED], [C.GPU_MEMORY],
    ]  # fmt: skip


def test_workers_of_a_later_tier_are_judged_like_any_other_though_an_earlier_one_was_chosen(decide: Decide) -> None:
    decision = decide(a_job(gpus=1, fallback=["remote"]), [local, remote, a_worker("r2", origin="remote", busy=[0])])
    assert decision.candidate("r1").verdict is Verdict.ELIGIBLE
    assert codes(decision, "r2") == [C.SLOTS, C.GPU_IN_USE]


OUTCOMES = [
    pytest.param(a_job(gpus=1), [local], Outcome.PLACED, id="placed where a worker is free"),
    pytest.param(a_job(gpus=1), [full], Outcome.WAITING, id="waiting where one will be"),
    pytest.param(a_job(gpus=1), [a_worker(online=False)], Outcome.WAITING, id="waiting for a worker that is offline"),
    pytest.param(a_job(gpus=9), [local], Outcome.UNSCHEDULABLE, id="unschedulable where none ever can"),
]


@pytest.mark.parametrize(("job", "fleet", "outcome"), OUTCOMES)
def test_the_outcome_is(decide: Decide, job: QueueEntry, fleet: list[WorkerView], outcome: Outcome) -> None:
    decision = decide(job, fleet)
    assert decision.outcome is outcome
    assert decision.ever_schedulable is ever_schedulable(job, Fleet(tuple(fleet)), "j-1")


CHOICES = [
    pytest.param(a_job(gpus=1), [a_worker("w2"), a_worker("w10")], [("w10", (0,))], id="ids compare as plain text"),
    pytest.param(
        a_job(gpus=2), [a_worker(gpus="4xT4", busy=[0, 2])], [("w1", (1, 3))], id="the lowest free indices are given"
    ),
    pytest.param(
        a_job(gpus=1, gpu_memory=big), [a_worker(gpus="T4+A100")], [("w1", (1,))], id="only devices that qualify"
    ),
    pytest.param(a_job(), [a_worker(gpus="2xT4")], [("w1", ())], id="none where none is asked for"),
    pytest.param(
        a_job(gpus=2), [a_worker(gpus="4090+2xMI300")], [("w1", (1, 2))], id="the first kind of which there is enough"
    ),
    pytest.param(
        a_job(gpus=1), [a_worker(gpus="4090+MI300", max_concurrent_tasks=4, busy=[0])], [],
        id="the kind is settled by what qualifies, not by what is free",
    ),
    pytest.param(
        a_job(gpus=1), [a_worker(gpus=with_device(devices("3xT4"), 0, healthy=False))], [("w1", (1,))],
        id="indices are the host's own",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fleet", "expected"), CHOICES)
def test_first_fit_gives(
    decide: Decide, job: QueueEntry, fleet: list[WorkerView], expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert places(decide(job, fleet)) == expected


roomy = a_job(gpus=1, policy=Policy.MOST_FREE_MEMORY)
MEMORY = [
    pytest.param(roomy, [a_worker("a", gpus="T4"), a_worker("b", gpus="A100")], "b", id="most memory"),
    pytest.param(roomy, [a_worker("b"), a_worker("a")], "a", id="the id breaks a tie"),
    pytest.param(roomy, [a_worker("a", gpus="?"), a_worker("b", gpus="T4")], "b", id="unknown sorts last"),
    pytest.param(roomy, [a_worker("a", gpus="A100+?"), a_worker("b", gpus="T4")], "b", id="an unknown sum"),
    pytest.param(roomy, [a_worker("a", gpus="A100"), a_worker("b", gpus="4xL4")], "b", id="all free devices count"),
    pytest.param(roomy, [a_worker("a", gpus="2xA100", busy=[0]), a_worker("b", gpus="4xL4")], "b", id="free ones"),
    pytest.param(
        a_job(gpus=1, gpu_memory=big, policy=Policy.MOST_FREE_MEMORY),
        [a_worker("a", gpus="9xL4+A100"), a_worker("b", gpus="2xA100")], "b", id="nor those that don't qualify",
    ),
    pytest.param(
        a_job(policy=Policy.MOST_FREE_MEMORY), [a_worker("a", memory_bytes=4 * GB), a_worker("b")], "b",
        id="host RAM where no device is asked for",
    ),
    pytest.param(
        a_job(policy=Policy.MOST_FREE_MEMORY), [a_worker("a", memory_bytes=None), a_worker("b")], "b",
        id="unknown RAM sorts last",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fleet", "worker"), MEMORY)
def test_most_free_memory_chooses(decide: Decide, job: QueueEntry, fleet: list[WorkerView], worker: str) -> None:
    assert [place.worker for place in decide(job, fleet).assignments] == [worker]


def test_the_policys_key_is_recorded_on_those_that_could_be_taken(decide: Decide) -> None:
    decision = decide(roomy, [a_worker("a"), a_worker("b", gpus="?"), a_worker("c", busy=[0])])
    assert [candidate.key for candidate in decision.candidates] == [(81920 * 2**20, "a"), (None, "b"), None]


RETRIES = [
    pytest.param(a_job(gpus=1, failed_on=["l1"]), [local], "l1", id="where there is no other worker it is tried again"),
    pytest.param(a_job(gpus=1, failed_on=["l1"]), [local, a_worker("l2")], "l2", id="another one is taken"),
    pytest.param(a_job(gpus=1, failed_on=["l1"]), [local, a_worker("l2", busy=[0])], None, id="or waited for"),
    pytest.param(a_job(gpus=1, failed_on=["l1"]), [local, a_worker("l2", gpus=())], "l1", id="if it is compatible"),
    pytest.param(a_job(gpus=1, failed_on=["l1"], fallback=["remote"]), [local, remote], "r1", id="in another tier too"),
    pytest.param(
        a_job(gpus=1, failed_on=["l1"], fallback=["remote"], fallback_when="incompatible"),
        [local, remote],
        "l1",
        id="but not in one that stays closed",
    ),
    pytest.param(a_job(gpus=1, failed_on=["gone"]), [local], "l1", id="a worker that has left keeps nothing away"),
]


@pytest.mark.parametrize(("job", "fleet", "worker"), RETRIES)
def test_a_retry_goes(decide: Decide, job: QueueEntry, fleet: list[WorkerView], worker: str | None) -> None:
    assert [place.worker for place in decide(job, fleet).assignments] == ([worker] if worker else [])


def test_the_worker_to_be_avoided_says_why(decide: Decide) -> None:
    assert codes(decide(a_job(gpus=1, failed_on=["l1"]), [local, a_worker("l2")]), "l1") == [C.FAILED_HERE]


def test_candidates_are_grouped_by_verdict_and_codes_the_largest_group_first(decide: Decide) -> None:
    fleet = [
        a_worker("a"), a_worker("b"), a_worker("c", gpus="T4"), a_worker("d", gpus="L4"),
        a_worker("e", gpus="T4", os="windows"), a_worker("f", busy=[0]), a_worker("g", gpus="T4"),
    ]  # fmt: skip
    decision = decide(a_job(gpus=1, gpu_memory=big, os="linux"), fleet)
    assert [(group.verdict, group.codes, group.workers) for group in decision.groups()] == [
        (Verdict.INCOMPATIBLE, (C.GPU_MEMORY,), ("c", "d", "g")),
        (Verdict.SELECTED, (), ("a",)),
        (Verdict.ELIGIBLE, (), ("b",)),
        (Verdict.INCOMPATIBLE, (C.OS, C.GPU_MEMORY), ("e",)),
        (Verdict.UNAVAILABLE, (C.SLOTS, C.GPU_IN_USE), ("f",)),
    ]
    assert decision.counts() == {
        Verdict.SELECTED: 1, Verdict.ELIGIBLE: 1, Verdict.UNAVAILABLE: 1, Verdict.INCOMPATIBLE: 4,
    }  # fmt: skip


def test_one_candidate_can_be_asked_for_and_a_stranger_is_an_error(decide: Decide) -> None:
    decision = decide(a_job(gpus=1), [local, full.holding(full.tasks[0])])
    with pytest.raises(KeyError):
        decision.candidate("nobody")


def test_the_fingerprint_tells_what_counts_as_a_change_and_nothing_else(decide: Decide) -> None:
    job = a_job(gpus=1)
    same = decide(job, [full]).fingerprint
    other_holder = a_worker("l1", gpus=full.facts.devices).holding(full.tasks[0].__class__(job_id="j-77", devices=(0,)))
    assert decide(job, [other_holder]).fingerprint == same
    assert decide(job, [a_worker("l1", busy=[0], draining=True)]).fingerprint != same
    assert decide(job, [full, a_worker("l2", busy=[0])]).fingerprint != same
    assert decide(job, [local]).fingerprint != same


def test_a_torch_version_is_none_of_a_plain_jobs_business(decide: Decide) -> None:
    assert places(decide(a_job(gpus=1), [a_worker(environment=an_environment(None))])) == [("w1", (0,))]
