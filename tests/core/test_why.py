"""Why this worker, why not that one, what is in the way, who went ahead, and a whole queue at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings

from scheduler.core.blockers import at_that_time, blockers
from scheduler.core.checklist import CHECKED, Status
from scheduler.core.decision import Verdict
from scheduler.core.fleet import Fleet, TaskLoad, WorkerView
from scheduler.core.levers import Kind
from scheduler.core.passed_over import Started, passed_over
from scheduler.core.reasons import Code
from scheduler.core.rollup import left_over, roll_up
from scheduler.core.rule import decide
from scheduler.core.scene import Scene
from scheduler.core.schedule import run_pass, schedule
from scheduler.core.spec import Policy, QueueEntry
from scheduler.core.why import to_document, why
from scheduler.core.why_not import why_not_there
from scheduler.core.why_this import why_this
from scheduler.core.why_words import (
    blockers_sentence,
    cause_sentence,
    duration,
    lever_sentence,
    passed_over_sentence,
    rollup_lead,
    why_this_lead,
)
from tests.core.builders import GB, a_job, a_worker, an_environment
from tests.core.demanding import crowded_fleets, demanding_jobs
from tests.core.strategies import queues

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=120, deadline=None)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def after(**amount: float) -> datetime:
    return NOON + timedelta(**amount)


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
        found = why_not_there(Scene(job, fleet), decide(job, fleet), "w")
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
        found = why_not_there(Scene(a_job(gpus=2), fleet), decide(a_job(gpus=2), fleet), "w")
        assert found.verdict is Verdict.UNAVAILABLE
        (line,) = [line for line in found.checks if line.status is Status.FAILED]
        assert (line.required, line.actual) == ("2 free", "device 0 in use by other tasks; 1 of 2 free")
        assert found.in_the_job == ()

    @laws
    @given(demanding_jobs, crowded_fleets)
    def test_it_says_what_the_decision_says(self, job: QueueEntry, fleet: Workers) -> None:
        decision, scene = decide(job, fleet), Scene(job, fleet)
        for candidate in decision.candidates:
            found = why_not_there(scene, decision, candidate.worker)
            failed = [line.code for line in found.checks if line.status is Status.FAILED]
            assert failed == list(dict.fromkeys(reason.code for reason in candidate.reasons))
            assert found.passed + found.failed + found.not_asked == len(CHECKED)
            for line in found.checks:
                assert bool(line.why_not_asked) == (line.status is Status.NOT_ASKED)
                assert bool(line.actual) == (line.status is not Status.NOT_ASKED), line
                assert line.required or line.status is Status.NOT_ASKED, line
            for edit in found.in_the_job:
                assert edit.gained == 1


def holding(*tasks: tuple[str, int]) -> tuple[TaskLoad, ...]:
    return tuple(TaskLoad(job_id=job_id, devices=(index,)) for job_id, index in tasks)


class TestBlockers:
    FLEET = (
        a_worker("a", gpus="2xA100", tasks=holding(("j-1", 0), ("j-2", 1)), max_concurrent_tasks=4),
        a_worker("b", gpus="2xA100", tasks=holding(("j-3", 0), ("j-4", 1)), max_concurrent_tasks=4),
        a_worker("c", gpus="2xA100", draining=True, state_note="new kernel"),
        a_worker("d", gpus="2xA100", reserved_for="team:vision", reserved_until=after(hours=9)),
    )
    ENDS = {"j-1": after(hours=1), "j-2": after(hours=3), "j-3": after(hours=2), "j-4": None}

    def test_the_earliest_known_time_and_who_must_end_for_it(self) -> None:
        found = blockers(Scene(a_job(gpus=2), self.FLEET), self.ENDS)
        assert blockers_sentence(found) == (
            "earliest known time is 2026-11-30 15:00 UTC on a, when j-1 and j-2 reach their time limits"
        )
        assert [(one.worker, one.free_at) for one in found.workers] == [
            ("a", after(hours=3)), ("d", after(hours=9)), ("b", None), ("c", None),
        ]  # fmt: skip
        assert [obstacle.text for one in found.workers for obstacle in one.obstacles] == [
            "needs 2 GPUs, 0 of 2 are free: devices are in use by other tasks (j-1, j-2)",
            "reserved for team vision until 2026-11-30 21:00 UTC",
            "needs 2 GPUs, 0 of 2 are free: devices are in use by other tasks (j-3, j-4)",
            "draining (new kernel)",
        ]
        assert [obstacle.until for one in found.workers for obstacle in one.obstacles] == [
            after(hours=3), after(hours=9), None, None,
        ]  # fmt: skip

    def test_one_device_is_free_sooner(self) -> None:
        found = blockers(Scene(a_job(gpus=1), self.FLEET), self.ENDS)
        assert (found.earliest, found.at, found.ending) == (after(hours=1), ("a",), ("j-1",))

    def test_no_known_end_is_said(self) -> None:
        found = blockers(Scene(a_job(gpus=2), self.FLEET[:3]), {})
        assert blockers_sentence(found) == "no known time: what stands in the way has no end that is known"
        assert found.total == 3

    def test_a_gang_waits_for_the_last_of_its_workers(self) -> None:
        fleet = (a_worker("free"), *self.FLEET)
        found = blockers(Scene(a_job(gpus=1, gang=3), fleet), self.ENDS)
        assert (found.earliest, found.at) == (after(hours=2), ("free", "a", "b"))

    @laws
    @given(demanding_jobs, crowded_fleets)
    def test_at_that_time_it_starts_if_nothing_else_comes(self, job: QueueEntry, fleet: Workers) -> None:
        job = replace(job, failed_on=())
        running = sorted({task.job_id for view in fleet for task in view.tasks})
        ends = {job_id: after(hours=number) for number, job_id in enumerate(running) if number % 3}
        found = blockers(Scene(job, fleet), ends)
        if found.earliest is None or schedule(job, fleet, job.job_id).assignments:
            return
        then = tuple(at_that_time(view, ends, found.earliest) for view in fleet)
        assert schedule(job, then, job.job_id).assignments
        before = tuple(at_that_time(view, ends, found.earliest - timedelta(seconds=1)) for view in fleet)
        assert not schedule(job, before, job.job_id).assignments


class TestPassedOver:
    FLEET = (a_worker("a", gpus="2xA100", busy=[0]), a_worker("b", gpus="T4"))

    def started(self) -> Iterator[Started]:
        for number, (submitted, placed, worker) in enumerate([(5, 10, "a"), (6, 20, "b"), (-5, 15, "a"), (7, 50, "a")]):
            yield Started(
                job_id=f"j-{number}", name="later", submitted_at=after(minutes=submitted),
                placed_at=after(minutes=placed), places=((worker, (1,)),),
            )  # fmt: skip

    def test_later_jobs_on_workers_that_fit_are_named(self) -> None:
        found = passed_over(
            Scene(a_job(gpus=2), self.FLEET), queued_at=NOON, seen_at=after(minutes=25), started=self.started(),
            before=[a_job("j-7", gpus=1), a_job("j-8", gpus=9)],
        )  # fmt: skip
        assert [one.job_id for one in found.later] == ["j-0"]
        assert found.earlier == ("j-7",)
        assert passed_over_sentence(found) == "passed over: 1 later job started on workers that fit this one"

    def test_past_half_an_hour_reserving_is_the_thing_to_do(self) -> None:
        found = passed_over(
            Scene(a_job(gpus=2), self.FLEET), queued_at=NOON, seen_at=after(minutes=61), started=self.started()
        )
        assert [one.job_id for one in found.later] == ["j-3", "j-0"]
        assert found.reserve
        assert passed_over_sentence(found).endswith(
            "; it has waited 1 h 1 min, so reserving workers for it is the thing to do"
        )

    def test_nobody_went_ahead(self) -> None:
        found = passed_over(Scene(a_job(), self.FLEET), queued_at=NOON, seen_at=after(hours=9), started=())
        assert not found.reserve
        assert passed_over_sentence(found) == "no later job started on a worker that fits this one"

    @pytest.mark.parametrize(("minutes", "said"), [(0, "0 min"), (41, "41 min"), (125, "2 h 5 min"), (4560, "3 d 4 h")])
    def test_durations_are_rounded_to_two_units(self, minutes: int, said: str) -> None:
        assert duration(timedelta(minutes=minutes)) == said


class TestRollUp:
    FLEET = Fleet((
        a_worker("a", gpus="2xA100", tasks=holding(("j-old", 0), ("j-old", 1)), max_concurrent_tasks=4),
        a_worker("b", gpus="T4", labels={"zone": "b"}),
    ))  # fmt: skip

    def rolled(self, *queue: QueueEntry) -> object:
        return roll_up([(one.entry, one.decision) for one in run_pass(queue, self.FLEET)], self.FLEET)

    def test_reasons_with_their_oldest_and_what_would_help(self) -> None:
        big = {"gpus": 1, "gpu_memory": 40 * GB}
        found = roll_up(
            [
                (one.entry, one.decision)
                for one in run_pass(
                    [a_job("j-1", gpus=1), a_job("j-2", **big), a_job("j-3", **big), a_job("j-4", labels={"zone": "a"}),
                     a_job("j-5", gpus=9), a_job("j-6", gpus=2, gpu_memory=40 * GB)],
                    self.FLEET,
                )
            ],
            self.FLEET,
        )  # fmt: skip
        assert rollup_lead(found) == "1 placed, 3 waiting, 2 never fit"
        assert [cause_sentence(cause) for cause in found.causes] == [
            "3 jobs wait: devices in use; the oldest is j-2 (only a fits: devices in use)",
            "1 job never fits: label; the oldest is j-4 (no worker has the label zone=a)",
            "1 job never fits: number of GPUs; the oldest is j-5 (no worker has 9 GPUs)",
        ]
        assert [lever_sentence(lever) for lever in found.levers if lever.kind is not Kind.WORKER] == [
            "the end of j-old on a would let 2 jobs start (j-2, j-3)",
            "the label zone=a on a would let 1 job start (j-4)",
        ]
        workers = {lever.subject: lever.starts for lever in found.levers if lever.kind is Kind.WORKER}
        assert workers == {"2 × NVIDIA A100-SXM4-80GB": 2}

    def test_a_label_that_would_help_is_named_with_the_workers_that_lack_it(self) -> None:
        fleet = Fleet((a_worker("a"), a_worker("b", labels={"zone": "b"}), a_worker("c", os="macos")))
        queue = [a_job("j-1", labels={"zone": "a"}, os="linux"), a_job("j-2", labels={"zone": "a"}, os="linux")]
        found = roll_up([(one.entry, one.decision) for one in run_pass(queue, fleet)], fleet)
        label = next(lever for lever in found.levers if lever.kind is Kind.LABEL)
        assert (label.subject, label.starts, label.workers) == ("zone=a", 2, ("a", "b"))

    def test_an_empty_queue_and_an_empty_fleet(self) -> None:
        assert rollup_lead(roll_up([], self.FLEET)) == "0 placed, 0 waiting, 0 never fit"
        nobody = Fleet()
        found = roll_up([(one.entry, one.decision) for one in run_pass([a_job()], nobody)], nobody)
        assert [cause_sentence(cause) for cause in found.causes] == [
            "1 job never fits: no workers; the oldest is j-1 (no workers yet)"
        ]

    @laws
    @given(queues, crowded_fleets)
    def test_every_job_is_counted_once_and_every_lever_lifts(
        self, queue: tuple[QueueEntry, ...], fleet: Workers
    ) -> None:
        decided = [(one.entry, one.decision) for one in run_pass(queue, fleet)]
        found = roll_up(decided, Fleet(fleet))
        assert found.placed + sum(cause.jobs for cause in found.causes) == len(queue)
        assert all(lever.starts >= len(lever.jobs) > 0 for lever in found.levers)
        held_up = [entry for entry, decision in decided if not decision.assignments]
        left = left_over(Fleet(fleet), decided)
        for lever in found.levers:
            if lever.kind is Kind.RELEASE:
                without = [
                    replace(view, tasks=tuple(task for task in view.tasks if task.job_id != lever.subject))
                    for view in left.workers
                ]
                placed = [one for one in run_pass(held_up, without) if one.decision.assignments]
                assert len(placed) == lever.starts


@laws
@given(demanding_jobs, crowded_fleets)
def test_all_of_it_is_plain_json(job: QueueEntry, fleet: Workers) -> None:
    scene = Scene(job, fleet)
    document = to_document(why(scene, decide(job, fleet)))
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"answer", "funnel", "order", "relaxations", "gang", "matrix", "blockers"}


def test_a_torch_build_tells_workers_apart_in_the_columns() -> None:
    fleet = (a_worker("a", environment=an_environment("2.6.0+cu124")), a_worker("b", environment=an_environment(None)))
    found = why(Scene(a_job(), fleet), decide(a_job(), fleet), grouping="torch").matrix
    assert found.columns == (("2.6.0+cu124", 1), ("torch missing or unknown", 1))
