"""What changed between two decisions, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from scheduler.core.codec import decision_from_document, decision_to_document
from scheduler.core.decision import SchedulingDecision, Verdict
from scheduler.core.difference import Difference, difference
from scheduler.core.fleet import Fleet, TaskLoad, WorkerView
from scheduler.core.rule import decide
from scheduler.core.schedule import schedule
from scheduler.core.spec import QueueEntry
from scheduler.core.why_words import change_sentences, difference_lead
from tests.core.builders import GB, a_job, a_worker, an_environment, devices, with_device
from tests.core.demanding import crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=150, deadline=None)
JOB = a_job(gpus=2)
UNTIL = datetime(2026, 11, 30, 18, tzinfo=UTC)


def between(before: WorkerView | None, after: WorkerView | None, job: QueueEntry = JOB) -> Difference:
    """Of one worker among others that stay as they are."""
    others = (a_worker("other", gpus="T4"),)
    fleets = [Fleet((*others, *([view] if view else []))) for view in (before, after)]
    first, last = (schedule(job, fleet, job.job_id) for fleet in fleets)
    return difference((job, first), (job, last), fleets=(fleets[0], fleets[1]))


FREE = a_worker("gpu-019", gpus="2xA100")
TAKEN = a_worker("gpu-019", gpus="2xA100", tasks=(TaskLoad(job_id="j-7d9", devices=(0, 1)),))


@pytest.mark.parametrize(("before", "after", "said"), [
    pytest.param(TAKEN, FREE, "gpu-019 came free and was chosen: j-7d9 released devices 0 and 1", id="released"),
    pytest.param(FREE, TAKEN, "gpu-019 is no longer free: j-7d9 took devices 0 and 1", id="taken"),
    pytest.param(FREE, replace(FREE, online=False), "gpu-019 is no longer free: offline", id="went offline"),
    pytest.param(
        replace(TAKEN, online=False), TAKEN, "gpu-019 is still not free: it is back online", id="back online"
    ),
    pytest.param(
        TAKEN, replace(TAKEN, draining=True, state_note="new kernel"),
        "gpu-019 is still not free: draining (new kernel)", id="began to drain",
    ),
    pytest.param(
        a_worker("gpu-019", gpus="2xA100", reserved_for="team:vision", reserved_until=UNTIL), FREE,
        "gpu-019 came free and was chosen: the reservation for team vision ended", id="reservation ended",
    ),
    pytest.param(
        FREE, a_worker("gpu-019", gpus="2xA100", reserved_for="team:vision", reserved_until=UNTIL),
        "gpu-019 is no longer free: reserved for team vision until 2026-11-30 18:00 UTC", id="reservation began",
    ),
    pytest.param(
        a_worker("gpu-019", gpus=with_device(devices("2xA100"), 1, healthy=False)), FREE,
        "gpu-019 came free and was chosen: device 1 is healthy again, or not needed", id="healthy again",
    ),
    pytest.param(
        a_worker("gpu-019", gpus="A100"), TAKEN, "gpu-019 can run it now, but is not free: j-7d9 took devices 0 and 1"
        " and no longer: needs 2 GPUs, has 1", id="a second device",
    ),
    pytest.param(
        TAKEN, a_worker("gpu-019", gpus="A100"),
        "gpu-019 can no longer run it: j-7d9 released devices 0 and 1 and needs 2 GPUs, has 1", id="a device less",
    ),
    pytest.param(None, TAKEN, "gpu-019 joined the fleet", id="joined"),
    pytest.param(TAKEN, None, "gpu-019 left the fleet", id="left"),
])  # fmt: skip
def test_each_change_in_a_sentence(before: WorkerView | None, after: WorkerView | None, said: str) -> None:
    assert change_sentences(between(before, after)) == (said,)


def test_a_capability_that_came_is_told_by_what_was_missing() -> None:
    job = a_job(environment="train")
    here = a_worker("w", environments={"train": an_environment()})
    assert change_sentences(between(a_worker("w"), here, job)) == (
        "w came free and was chosen: no longer: environment train not found; has default",
    )


def test_figures_alone_are_no_change() -> None:
    less = a_worker("gpu-019", gpus="2xA100", tasks=(TaskLoad(job_id="j-8", devices=(1,)),))
    found = between(TAKEN, less)
    assert found.is_empty
    assert difference_lead(found) == "nothing changed: same outcome, same places, same reasons for every worker"


def test_the_ends_and_the_stages_are_told() -> None:
    found = between(TAKEN, FREE)
    assert difference_lead(found) == "waiting → placed on gpu-019; 1 candidate changed"
    assert [(step.key, step.before, step.after) for step in found.steps] == [
        ("available", 0, 1), ("selected", 0, 1),
    ]  # fmt: skip


def test_another_choice_among_free_workers_is_a_change() -> None:
    fleet = (a_worker("a"), a_worker("b", gpus="4xA100"))
    one = a_job()
    other = replace(one, spec=replace(one.spec, placement=replace(one.spec.placement, worker_ids=("b",))))
    found = difference((one, decide(one, fleet)), (other, decide(other, fleet)))
    assert change_sentences(found) == (
        "a can no longer run it: not among the workers named in placement.worker_ids (b)", "b was chosen",
    )  # fmt: skip


def parts(decision: SchedulingDecision) -> dict[str, tuple[Verdict, frozenset[object]]]:
    return {one.worker: (one.verdict, frozenset(r.code for r in one.reasons)) for one in decision.candidates}


@laws
@given(demanding_jobs, crowded_fleets, crowded_fleets)
def test_only_candidates_whose_verdict_or_codes_changed(job: QueueEntry, one: Workers, other: Workers) -> None:
    first, last = schedule(job, one, job.job_id), schedule(job, other, job.job_id)
    found = difference((job, first), (job, last), fleets=(Fleet(one), Fleet(other)))
    was, now = parts(first), parts(last)
    assert [changed.worker for changed in found.changed] == sorted(
        worker for worker in {*was, *now} if was.get(worker) != now.get(worker)
    )
    for changed in found.changed:
        assert changed.headline.startswith(changed.worker)
        if changed.before and changed.after and not {changed.before, changed.after} <= {
            Verdict.SELECTED, Verdict.ELIGIBLE
        }:  # fmt: skip
            assert changed.causes


@laws
@given(demanding_jobs, crowded_fleets)
def test_equal_decisions_do_not_differ_wherever_they_come_from(job: QueueEntry, fleet: Workers) -> None:
    made = schedule(job, fleet, job.job_id)
    for other in (decide(job, fleet), decision_from_document(decision_to_document(made))):
        assert difference((job, made), (job, other)).is_empty
        assert not difference((job, made), (job, other)).steps


def test_many_changes_are_found_as_well_as_few() -> None:
    job = a_job(memory=GB)
    fleet = tuple(a_worker(f"w{number:03}") for number in range(200))
    gone = tuple(replace(view, online=False) for view in fleet)
    found = difference((job, schedule(job, fleet, "j-1")), (job, schedule(job, gone, "j-1")))
    assert len(found.changed) == 200
    assert {changed.causes for changed in found.changed} == {("offline",)}
