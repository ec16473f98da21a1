"""Why this worker, why not that one; everything as plain JSON."""

from __future__ import annotations

import json

from hypothesis import given, settings

from scheduler.core.checklist import CHECKED, Status
from scheduler.core.decision import Verdict
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Code
from scheduler.core.rule import decide
from scheduler.core.scene import Scene
from scheduler.core.spec import Policy, QueueEntry
from scheduler.core.why import PARTS, Grounds, Why, to_document, why
from scheduler.core.why_not import WhyNot, why_not
from scheduler.core.why_reading import from_document
from scheduler.core.why_this import why_this
from scheduler.core.why_words import (
    why_this_lead,
)
from tests.core.builders import GB, a_job, a_worker, an_environment
from tests.core.demanding import crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=120, deadline=None)


class TestWhyThis:
    FLEET = (
        a_worker("a", gpus="A100"),
        a_worker("b", gpus="2xA100"),
        a_worker("c", gpus="2xA100"),
        a_worker("d", gpus="?"),
    )

    def test_the_lowest_id_then_the_next(self) -> None:
        job = a_job(gpus=1)
        found = why_this(Scene(job, self.FLEET), decide(job, self.FLEET))
        assert [(one.place, one.worker, one.selected, one.why) for one in found.order] == [
            (1, "a", True, "first in the policy's order"),
            (2, "b", False, "its id comes after a"),
            (3, "c", False, "its id comes after b"),
            (4, "d", False, "its id comes after c"),
        ]
        assert why_this_lead(found) == (
            "first_fit: lowest worker id first, compared as text; most_free_memory would have taken b"
        )

    def test_the_most_memory_then_less_then_unknown(self) -> None:
        job = a_job(gpus=1, policy=Policy.MOST_FREE_MEMORY)
        found = why_this(Scene(job, self.FLEET), decide(job, self.FLEET))
        assert [(one.worker, one.why) for one in found.order] == [
            ("b", "first in the policy's order"),
            ("c", "as much free memory as b, and its id comes after"),
            ("a", "85.9 GB free, less than the 171.8 GB of c"),
            ("d", "its free memory is unknown, which comes last"),
        ]
        assert found.order[0].free_memory == 2 * 81920 * 2**20
        assert why_this_lead(found).endswith("first_fit would have taken a")

    def test_targets_come_before_the_policy(self) -> None:
        job = a_job(target="remote", fallback=["local"])
        fleet = (a_worker("a"), a_worker("z", origin="remote"))
        found = why_this(Scene(job, fleet), decide(job, fleet))
        assert [one.why for one in found.order] == [
            "first in the policy's order", "local comes after remote among the targets",
        ]  # fmt: skip

    @laws
    @given(demanding_jobs, crowded_fleets)
    def test_the_chosen_come_first_unless_versions_stand_between(self, job: QueueEntry, fleet: Workers) -> None:
        decision = decide(job, fleet)
        found = why_this(Scene(job, fleet), decision)
        chosen = [place.worker for place in decision.assignments]
        keys = {one.worker: one.key for one in decision.candidates}
        assert found.eligible == sum(not one.reasons for one in decision.candidates)
        assert all(keys[one.worker] == one.key for one in found.order)
        if chosen and not job.spec.distributed:
            assert found.order[0].worker == chosen[0]
            assert found.order[0].selected


class TestWhyNot:
    def test_every_check_with_both_sides(self) -> None:
        job = a_job(gpus=2, gpu_memory=40 * GB, memory=128 * GB, environment="train", frameworks={"torch": ">=2.5"})
        fleet = (a_worker("w", gpus="A100", memory_bytes=None),)
        found = why_not(job, fleet[0], decide(job, fleet).candidate("w"))
        assert found.lead == "w can never run it, as both stand: 3 of 6 checks that were asked failed."
        assert tuple(line.code for line in found.checks) == CHECKED
        lines = {line.code: line for line in found.checks}
        memory = lines[Code.MEMORY]
        assert (memory.required, memory.actual, memory.unknown) == ("≥ 128 GB", "unknown", True)
        assert (lines[Code.ENVIRONMENT].required, lines[Code.ENVIRONMENT].actual) == ("train", "default")
        assert lines[Code.FRAMEWORK].why_not_asked == "the environment is missing"
        assert (lines[Code.GPU_COUNT].required, lines[Code.GPU_COUNT].actual) == ("2 GPUs", "1")
        assert lines[Code.OFFLINE].status is Status.NOT_ASKED
        assert [remedy.code for remedy in found.on_the_worker] == [Code.MEMORY, Code.ENVIRONMENT, Code.GPU_COUNT]
        assert len(found.in_the_job[0].changes) == 3

    def test_a_worker_that_is_merely_taken(self) -> None:
        fleet = (a_worker("w", gpus="2xA100", busy=[0]),)
        found = why_not(a_job(gpus=2), fleet[0], decide(a_job(gpus=2), fleet).candidate("w"))
        assert found.verdict is Verdict.UNAVAILABLE
        (line,) = [line for line in found.checks if line.status is Status.FAILED]
        assert (line.required, line.actual) == ("2 free", "device 0 in use by other tasks; 1 of 2 free")
        healthy = next(line for line in found.checks if line.code is Code.GPU_UNHEALTHY)
        assert (healthy.status, healthy.actual) == (Status.PASSED, "none unhealthy")
        assert found.in_the_job == ()

    @laws
    @given(demanding_jobs, crowded_fleets)
    def test_it_says_what_the_decision_says(self, job: QueueEntry, fleet: Workers) -> None:
        views = {view.id: view for view in fleet}
        for candidate in decide(job, fleet).candidates:
            found = why_not(job, views[candidate.worker], candidate)
            failed = [line.code for line in found.checks if line.status is Status.FAILED]
            assert failed == list(dict.fromkeys(reason.code for reason in candidate.reasons))
            assert found.passed + found.failed + found.not_asked == len(CHECKED)
            for line in found.checks:
                assert bool(line.why_not_asked) == (line.status is Status.NOT_ASKED)
                assert bool(line.actual) == (line.status is not Status.NOT_ASKED), line
                assert line.required or line.status is Status.NOT_ASKED, line
            for edit in found.in_the_job:
                assert edit.gained == 1


@laws
@given(demanding_jobs, crowded_fleets)
def test_all_of_it_is_plain_json(job: QueueEntry, fleet: Workers) -> None:
    told = why(Grounds(scene=Scene(job, fleet), decision=decide(job, fleet)))
    document = json.loads(json.dumps(to_document(told)))
    assert from_document(Why, document) == told
    assert set(document) == set(PARTS)


@laws
@given(demanding_jobs, crowded_fleets)
def test_why_not_comes_back_from_its_document(job: QueueEntry, fleet: Workers) -> None:
    for candidate, view in zip(decide(job, fleet).candidates, sorted(fleet, key=lambda view: view.id), strict=True):
        found = why_not(job, view, candidate)
        assert from_document(WhyNot, json.loads(json.dumps(to_document(found)))) == found


def test_a_torch_build_tells_workers_apart_in_the_columns() -> None:
    fleet = (a_worker("a", environment=an_environment("2.6.0+cu124")), a_worker("b", environment=an_environment(None)))
    found = why(Grounds(scene=Scene(a_job(), fleet), decision=decide(a_job(), fleet), grouping="torch")).matrix
    assert found.columns == (("2.6.0+cu124", 1), ("torch missing or unknown", 1))
