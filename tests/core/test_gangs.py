"""Gangs: all members or none, of one tier and one torch version."""

from __future__ import annotations

import pytest

from scheduler.core import rule
from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.fleet import WorkerView
from scheduler.core.gang import plan_group
from scheduler.core.reasons import Code
from scheduler.core.schedule import run_pass
from scheduler.core.spec import Policy, QueueEntry
from tests.core.builders import a_job, a_worker, an_environment
from tests.core.conftest import Decide
from tests.core.test_decisions import tiers

OLD, NEW, NEW_BUILD = "2.4.1+cu121", "2.5.1+cu121", "2.5.1+cu124"
Told = tuple[Code, str, str | None, int, int, int]


def host(id: str, torch: str = NEW, **facts: object) -> WorkerView:
    return a_worker(id, environment=an_environment(torch), **facts)  # type: ignore[arg-type]


def ranks(decision: SchedulingDecision) -> list[str]:
    assert [place.node_rank for place in decision.assignments] == list(range(len(decision.assignments)))
    return [place.worker for place in decision.assignments]


def told(decision: SchedulingDecision) -> list[Told]:
    return [
        (reason.code, reason.tier, reason.torch, reason.compatible, reason.free, reason.needed)
        for reason in decision.group_reasons
    ]


pair = a_job(gang=2, gpus=1)
PLACED = [
    pytest.param(a_job(gang=1, gpus=1), [host("a")], ["a"], id="a gang of one"),
    pytest.param(pair, [host("b"), host("a"), host("c")], ["a", "b"], id="ranks follow the policy's order"),
    pytest.param(pair, [host("a", OLD), host("b"), host("c")], ["b", "c"], id="not built around whoever comes first"),
    pytest.param(
        pair, [host("a", OLD), host("b"), host("c"), host("d", OLD)], ["b", "c"], id="the first version to be complete"
    ),
    pytest.param(
        a_job(gang=2, gpus=1, policy=Policy.MOST_FREE_MEMORY),
        [host("a", gpus="T4"), host("b", gpus="A100"), host("c", gpus="4xA100")], ["c", "b"], id="most memory first",
    ),
    pytest.param(
        a_job(gang=2, gpus=1, fallback=["remote", "cloud"]),
        [host("a"), host("b", origin="remote"), host("c", origin="cloud"), host("d", origin="cloud")], ["c", "d"],
        id="one tier holds it all",
    ),
    pytest.param(
        a_job(gang=2, gpus=1, failed_on=["a"]), [host("a"), host("b"), host("c")], ["b", "c"],
        id="a worker that failed it is left out where two others are left",
    ),
    pytest.param(a_job(gang=2, gpus=1, failed_on=["a"]), [host("a"), host("b")], ["a", "b"], id="and only there"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fleet", "expected"), PLACED)
def test_a_gang_is_placed(decide: Decide, job: QueueEntry, fleet: list[WorkerView], expected: list[str]) -> None:
    decision = decide(job, fleet)
    assert ranks(decision) == expected
    assert not [reason for reason in decision.group_reasons if reason.tier == "cloud"]


ABSENT = [
    pytest.param(
        pair, [host("a")], Outcome.UNSCHEDULABLE, [(Code.GANG_TOO_FEW, "local", NEW, 1, 1, 2)], id="too few workers"
    ),
    pytest.param(
        pair, [host("a", os="windows", origin="cloud")], Outcome.UNSCHEDULABLE,
        [(Code.GANG_TOO_FEW, "local", None, 0, 0, 2)], id="no compatible worker, without a version",
    ),
    pytest.param(
        pair, [host("a", NEW_BUILD), host("b", NEW)], Outcome.UNSCHEDULABLE,
        [(Code.GANG_TORCH_MIX, "local", NEW, 1, 1, 2), (Code.GANG_TORCH_MIX, "local", NEW_BUILD, 1, 1, 2)],
        id="versions are compared as reported, builds included",
    ),
    pytest.param(
        pair, [host("a", OLD), host("b"), host("c", online=False)], Outcome.WAITING,
        [(Code.GANG_NOT_FREE, "local", OLD, 1, 1, 2), (Code.GANG_NOT_FREE, "local", NEW, 2, 1, 2)],
        id="enough of one version, not now; told of every version",
    ),
    pytest.param(
        a_job(gang=2, gpus=1, fallback=["remote"]), [host("a"), host("b", busy=[0]), host("c", origin="remote")],
        Outcome.WAITING,
        [(Code.GANG_NOT_FREE, "local", NEW, 2, 1, 2), (Code.GANG_TOO_FEW, "remote", NEW, 1, 1, 2)],
        id="one free worker here and one there are two halves of nothing",
    ),
    pytest.param(
        a_job(gang=2, gpus=1, fallback=["remote"], fallback_when="incompatible"),
        [host("a"), host("b", busy=[0]), host("c", origin="remote"), host("d", origin="remote")],
        Outcome.WAITING, [(Code.GANG_NOT_FREE, "local", NEW, 2, 1, 2)], id="nothing is told of a closed tier",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "fleet", "outcome", "reasons"), ABSENT)
def test_a_gang_is_not_placed(
    decide: Decide, job: QueueEntry, fleet: list[WorkerView], outcome: Outcome, reasons: list[Told]
) -> None:
    decision = decide(job, fleet)
    assert (decision.outcome, told(decision)) == (outcome, reasons)
    assert decision.assignments == ()


def test_what_kept_an_earlier_tier_from_it_is_told_though_a_later_one_took_it(decide: Decide) -> None:
    fleet = [host("a"), host("r", origin="remote"), host("s", origin="remote")]
    decision = decide(a_job(gang=2, gpus=1, fallback=["remote"]), fleet)
    assert ranks(decision) == ["r", "s"]
    assert told(decision) == [(Code.GANG_TOO_FEW, "local", NEW, 1, 1, 2)]
    assert tiers(decision) == {"local": "never", "remote": "placed"}


def test_a_closed_tier_with_too_few_workers_is_closed(decide: Decide) -> None:
    job = a_job(gang=2, gpus=1, fallback=["remote"], fallback_when="incompatible")
    decision = decide(job, [host("a"), host("b", busy=[0]), host("c", origin="remote")])
    assert tiers(decision) == {"local": "waiting", "remote": "closed"}


def test_a_gang_that_cannot_start_holds_nothing() -> None:
    trio, single = a_job("trio", gang=3, gpus=1), a_job("single", gpus=1)
    first, second = run_pass([trio, single], [host("a"), host("b"), host("c", busy=[0])])
    assert first.decision.outcome is Outcome.WAITING
    assert [place.worker for place in second.decision.assignments] == ["a"]


def test_the_torch_of_the_jobs_own_environment_counts(decide: Decide) -> None:
    train = {"train": an_environment(NEW)}
    fleet = [a_worker("a", environment=an_environment(OLD), environments=train), a_worker("b", environments=train)]
    assert ranks(decide(a_job(gang=2, environment="train"), fleet)) == ["a", "b"]
    assert decide(a_job(gang=2), fleet).outcome is Outcome.UNSCHEDULABLE


def test_the_plan_names_the_master_and_every_node() -> None:
    job = a_job(gang=2, gpus=1, procs=4)
    fleet = [host("b"), host("a")]
    decision = rule.decide(job, fleet)
    facts = {worker.id: worker.facts for worker in fleet}
    plan = plan_group(job.spec, [facts[place.worker] for place in decision.assignments])
    assert (plan.master_address, plan.nodes, plan.world_size) == ("a.internal", ("a", "b"), 8)


def test_no_group_is_planned_for_a_plain_job() -> None:
    with pytest.raises(ValueError, match="distributed"):
        plan_group(a_job().spec, [a_worker().facts])
