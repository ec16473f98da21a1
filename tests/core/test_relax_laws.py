"""What holds of every relaxation, whatever the fleet and the job: by brute force over the plain rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from hypothesis import given, settings

from scheduler.core import rule
from scheduler.core.codec import job_to_document
from scheduler.core.decision import Outcome, SchedulingDecision, Verdict
from scheduler.core.fleet import WorkerView
from scheduler.core.parsing import parse_job
from scheduler.core.relax import Relaxations, relaxations
from scheduler.core.relax_gang import gang_versions, with_torch
from scheduler.core.relax_sets import MOST_TOGETHER, loosened
from scheduler.core.relaxed import Relaxation
from scheduler.core.requirements import requirements
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec, QueueEntry
from tests.core.demanding import crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=200, deadline=None)


def decided(job: QueueEntry, spec: JobSpec, fleet: Workers) -> SchedulingDecision:
    return rule.decide(replace(job, spec=spec), fleet)


def fitting(decision: SchedulingDecision) -> set[str]:
    return {one.worker for one in decision.candidates if one.verdict is not Verdict.INCOMPATIBLE}


def free(decision: SchedulingDecision) -> set[str]:
    return {one.worker for one in decision.candidates if not one.reasons}


def every(found: Relaxations) -> Iterator[Relaxation]:
    yield from found.alone
    yield from found.together


@laws
@given(demanding_jobs, crowded_fleets)
def test_an_edit_applied_gains_what_it_said(job: QueueEntry, fleet: Workers) -> None:
    base = rule.decide(job, fleet)
    for edit in every(relaxations(Scene(job, fleet))):
        after = decided(job, edit.spec, fleet)
        gained, freed = fitting(after) - fitting(base), free(after) - free(base)
        assert (edit.gained, edit.gained_free, edit.free) == (len(gained), len(gained & freed), len(freed))
        assert edit.starts == bool(after.assignments)
        assert edit.fits == after.ever_schedulable
        assert set(edit.examples) <= gained | freed
        assert edit.gained or edit.free or edit.starts or edit.fits


@laws
@given(demanding_jobs, crowded_fleets)
def test_an_edited_job_is_a_document_that_can_be_submitted(job: QueueEntry, fleet: Workers) -> None:
    for edit in every(relaxations(Scene(job, fleet))):
        assert parse_job(job_to_document(edit.spec)) == edit.spec


@laws
@given(demanding_jobs, crowded_fleets)
def test_every_requirement_that_alone_gains_workers_is_named(job: QueueEntry, fleet: Workers) -> None:
    scene, base = Scene(job, fleet), rule.decide(job, fleet)
    named = {edit.changes[0].field for edit in relaxations(scene).alone if edit.gained}
    for ask in requirements(job.spec):
        loosest = [decided(job, spec, fleet) for spec in ask.loosest(job.spec, scene)]
        assert (ask.field in named) == any(fitting(after) - fitting(base) for after in loosest), ask.field


@laws
@given(demanding_jobs, crowded_fleets)
def test_no_nearer_number_gains_a_worker(job: QueueEntry, fleet: Workers) -> None:
    base = rule.decide(job, fleet)
    for edit in relaxations(Scene(job, fleet)).alone:
        if edit.changes[0].field == "resources.gpus" and edit.gained:
            for number in range(edit.spec.resources.gpus + 1, job.spec.resources.gpus):
                nearer = replace(job.spec, resources=replace(job.spec.resources, gpus=number))
                assert fitting(decided(job, nearer, fleet)) <= fitting(base)
            break


def reaches(job: QueueEntry, base: SchedulingDecision, specs: Iterable[JobSpec], fleet: Workers) -> bool:
    after = [decided(job, spec, fleet) for spec in specs]
    if base.outcome is Outcome.WAITING:
        return any(one.assignments for one in after)
    return any(one.ever_schedulable for one in after)


@settings(max_examples=120, deadline=None)
@given(demanding_jobs, crowded_fleets)
def test_sets_are_smallest_by_brute_force(job: QueueEntry, fleet: Workers) -> None:
    scene, base = Scene(job, fleet), rule.decide(job, fleet)
    found = relaxations(scene)
    if base.outcome is Outcome.PLACED:
        assert not found.together
        return
    asks = requirements(job.spec)

    def some_set_of(size: int) -> bool:
        return any(
            reaches(job, base, loosened(scene, job.spec, asks, one), fleet)
            for one in combinations(range(len(asks)), size)
        )

    smallest = next((size for size in range(1, MOST_TOGETHER + 1) if some_set_of(size)), None)
    if smallest == 1 or not found.searched:
        assert smallest == 1
        assert not found.together
        return
    assert found.complete
    assert {len(edit.changes) for edit in found.together} == ({smallest} if smallest else set())
    for edit in found.together:
        assert reaches(job, base, [edit.spec], fleet)


@laws
@given(demanding_jobs, crowded_fleets)
def test_the_torch_that_would_complete_a_gang_does(job: QueueEntry, fleet: Workers) -> None:
    fit = fitting(rule.decide(job, fleet))
    for version in gang_versions(Scene(job, fleet)):
        assert version.free <= version.compatible
        if version.change is None:
            continue
        name = job.spec.runtime.environment
        like = next(
            dict(view.facts.environments)[name]
            for view in sorted(fleet, key=lambda view: view.id)
            if view.id in fit
            and dict(dict(view.facts.environments)[name].frameworks or ()).get("torch") == version.torch
            and view.facts.origin.value == version.tier
        )
        those = dict(version.change.workers)
        changed = tuple(
            replace(view, facts=with_torch(view.facts, name, version.torch, like)) if view.id in those else view
            for view in fleet
        )
        after = rule.decide(job, changed)
        assert after.ever_schedulable
        if version.change.starts and not job.failed_on:
            assert after.assignments
