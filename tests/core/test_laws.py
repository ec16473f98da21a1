"""What holds whatever the fleet and the queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from datetime import datetime
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.core import rule
from scheduler.core.decision import SchedulingDecision, Verdict
from scheduler.core.devices import load_of
from scheduler.core.engine import Engine
from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.gang import members
from scheduler.core.schedule import run_pass, schedule
from scheduler.core.spec import FallbackWhen, JobSpec, Placement, QueueEntry, Resources, Runtime
from tests.core.strategies import fleets, instants, jobs, queues, workers

Queue = tuple[QueueEntry, ...]
Workers = tuple[WorkerView, ...]
laws = settings(max_examples=300, deadline=None)


def plainly(queue: Iterable[QueueEntry], fleet: Workers, at: datetime | None = None) -> Iterator[SchedulingDecision]:
    """A pass by the plain rule."""
    now = {worker.id: worker for worker in fleet}
    for entry in queue:
        decision = rule.decide(entry, now.values(), at)
        for place in decision.assignments:
            now[place.worker] = now[place.worker].holding(load_of(entry, place.devices))
        yield decision


def are_the_same(passed: Iterable[SchedulingDecision], by_the_rule: Iterable[SchedulingDecision]) -> None:
    for fast, plain in zip(passed, by_the_rule, strict=True):
        assert fast == plain
        assert fast.groups() == plain.groups()
        assert fast.fingerprint == plain.fingerprint
        assert all(fast.candidate(candidate.worker) == candidate for candidate in plain.candidates)


@laws
@given(queues, fleets, instants)
def test_a_pass_over_sets_decides_as_the_plain_rule_does(queue: Queue, fleet: Workers, at: datetime | None) -> None:
    are_the_same([result.decision for result in run_pass(queue, fleet, at=at)], plainly(queue, fleet, at))


@settings(laws, max_examples=100)
@given(queues, fleets, instants, st.integers(2, 6))
def test_a_pass_over_several_blocks_does_too(queue: Queue, fleet: Workers, at: datetime | None, times: int) -> None:
    many = tuple(
        replace(worker, facts=replace(worker.facts, id=f"{worker.id}-{number}"))
        for number in range(times)
        for worker in fleet
    )
    queue = tuple(replace(entry, job_id=f"{entry.job_id}-{number}") for number in range(3) for entry in queue)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scheduler.core.bits.BLOCK", 8)
        passed = list(run_pass(queue, many, at=at))
        in_order = [result.entry for result in passed]
        are_the_same([result.decision for result in passed], plainly(in_order, many, at))


@laws
@given(queues, fleets, fleets)
def test_what_an_engine_learnt_before_changes_no_answer(queue: Queue, before: Workers, fleet: Workers) -> None:
    engine = Engine()
    list(run_pass(queue, before, engine=engine))
    busy = [replace(worker, draining=not worker.draining) for worker in fleet]
    list(run_pass(queue, busy, engine=engine))
    again = [result.decision for result in run_pass(queue, fleet, engine=engine)]
    assert again == [result.decision for result in run_pass(queue, fleet)]


@laws
@given(queues, fleets)
def test_a_decision_says_the_same_at_once_and_when_the_pass_is_over(queue: Queue, fleet: Workers) -> None:
    later = [result.decision for result in run_pass(queue, fleet)]
    for result, afterwards in zip(run_pass(queue, fleet), later, strict=True):
        assert result.decision.groups() == afterwards.groups()
        assert result.decision.candidates == afterwards.candidates


@laws
@given(jobs, fleets, st.randoms())
def test_the_order_of_workers_changes_nothing(job: QueueEntry, fleet: Workers, dice: Random) -> None:
    shuffled = dice.sample(fleet, len(fleet))
    assert schedule(job, shuffled, job.job_id) == schedule(job, fleet, job.job_id)


@laws
@given(queues, fleets)
def test_no_device_is_given_twice_nor_one_that_could_not_be_given(queue: Queue, fleet: Workers) -> None:
    taken = {(worker.id, index) for worker in fleet for task in worker.tasks for index in task.devices}
    broken = {
        (worker.id, device.index)
        for worker in fleet
        for device in worker.facts.devices or ()
        if device.healthy is False or device.mig
    }
    for result in run_pass(queue, fleet):
        for place in result.decision.assignments:
            given = {(place.worker, index) for index in place.devices}
            assert len(given) == result.entry.spec.resources.gpus
            assert given.isdisjoint(taken | broken)
            taken |= given


@laws
@given(queues, fleets)
def test_every_worker_is_a_candidate_once_and_verdicts_agree_with_the_evidence(queue: Queue, fleet: Workers) -> None:
    for result in run_pass(queue, fleet):
        decision = result.decision
        assert [candidate.worker for candidate in decision.candidates] == sorted(worker.id for worker in fleet)
        assert sum(decision.counts().values()) == len(fleet)
        selected = {candidate.worker for candidate in decision.candidates if candidate.verdict is Verdict.SELECTED}
        assert selected == {place.worker for place in decision.assignments}
        for candidate in decision.candidates:
            assert (candidate.key is None) == bool(candidate.reasons)


@laws
@given(queues, fleets)
def test_a_gang_is_whole_or_absent_of_one_tier_and_one_torch(queue: Queue, fleet: Workers) -> None:
    facts = {worker.id: worker.facts for worker in fleet}
    for result in run_pass(queue, fleet):
        chosen = [facts[place.worker] for place in result.decision.assignments]
        assert len({worker.id for worker in chosen}) in {0, members(result.entry.spec)}
        if result.entry.spec.distributed:
            environment = result.entry.spec.runtime.environment
            assert (
                len({dict(dict(worker.environments)[environment].frameworks or ())["torch"] for worker in chosen}) < 2
            )
            assert len({worker.origin for worker in chosen}) < 2


FORGETTABLE = (
    "provider", "region", "os", "arch", "cpu_millicores", "memory_bytes", "disk_bytes", "advertise_address", "devices",
)  # fmt: skip
IN_DEVICES = ("model", "kind", "memory_bytes", "memory_kind", "compute_capability")
IN_ENVIRONMENTS = ("python", "frameworks", "launchers", "comm_backends")


@laws
@given(jobs, workers, st.sampled_from(FORGETTABLE + IN_DEVICES + IN_ENVIRONMENTS))
def test_an_unknown_never_satisfies(job: QueueEntry, worker: WorkerView, fact: str) -> None:
    facts = worker.facts
    if fact in IN_DEVICES and facts.devices:
        forgot = replace(facts, devices=tuple(replace(device, **{fact: None}) for device in facts.devices))
    elif fact in IN_ENVIRONMENTS:
        known = tuple((name, replace(environment, **{fact: None})) for name, environment in facts.environments)
        forgot = replace(facts, environments=known)
    else:
        assume(fact in FORGETTABLE)
        forgot = replace(facts, **{fact: None})
    assume(compatibility_reasons(job, worker))
    assert compatibility_reasons(job, replace(worker, facts=forgot))


def dropped(spec: JobSpec, requirement: str) -> JobSpec:
    for section, default in (("resources", Resources()), ("placement", Placement()), ("runtime", Runtime())):
        if hasattr(default, requirement):
            part = replace(getattr(spec, section), **{requirement: getattr(default, requirement)})
            return replace(spec, **{section: part})
    return replace(spec, distributed=None)


REQUIREMENTS = [field.name for section in (Resources, Placement, Runtime) for field in fields(section)]


@laws
@given(jobs, workers, st.sampled_from([*REQUIREMENTS, "distributed"]))
def test_dropping_a_requirement_never_makes_a_compatible_worker_incompatible(
    job: QueueEntry, worker: WorkerView, requirement: str
) -> None:
    assume(requirement != "environment")  # it changes what is asked, not how much
    assume(not compatibility_reasons(job, worker))
    assert not compatibility_reasons(replace(job, spec=dropped(job.spec, requirement)), worker)


@laws
@given(jobs, fleets, workers)
def test_one_more_worker_never_takes_a_place_away(job: QueueEntry, fleet: Workers, more: WorkerView) -> None:
    """Unless it closes a later tier, or is somewhere else to go, later, for a job that failed here."""
    job = replace(job, failed_on=(), spec=replace(job.spec, fallback_when=FallbackWhen.UNAVAILABLE))
    if schedule(job, fleet, job.job_id).assignments:
        assert schedule(job, (*fleet, more), job.job_id).assignments
