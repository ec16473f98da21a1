"""What is in the way of a job that waits, when that ends, and who went ahead of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import example, given, settings

from scheduler.core.blockers import at_that_time, blockers
from scheduler.core.fleet import TaskLoad, Window, WorkerView
from scheduler.core.passed_over import Started, passed_over
from scheduler.core.scene import Scene
from scheduler.core.schedule import schedule
from scheduler.core.spec import QueueEntry
from scheduler.core.why_words import (
    blockers_sentence,
    duration,
    passed_over_sentence,
)
from tests.core.builders import a_job, a_worker
from tests.core.demanding import a_busy_fleet, a_gang, crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=120, deadline=None)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def after(**amount: float) -> datetime:
    return NOON + timedelta(**amount)


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

    def test_what_is_kept_for_others_by_then_does_not_count_among_a_gang(self) -> None:
        kept = Window(starts_at=after(hours=2), ends_at=None, holder="team:vision", devices=(), notice_s=0)
        fleet = (replace(a_worker("free", upcoming=(kept,)), at=NOON), *self.FLEET)
        assert (found := blockers(Scene(a_job(gpus=1, gang=3), fleet), self.ENDS)).earliest == after(hours=9)
        assert found.at == ("a", "b", "d")
        found = blockers(Scene(a_job(gpus=1, gang=2), fleet), self.ENDS)
        assert (found.earliest, found.at) == (after(hours=1), ("free", "a"))

    @laws
    @given(demanding_jobs, crowded_fleets)
    @example(a_gang(Random(107)), a_busy_fleet(Random(491)))
    @example(a_gang(Random(70)), a_busy_fleet(Random(491)))
    @example(a_gang(Random(0)), a_busy_fleet(Random(66182)))
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
