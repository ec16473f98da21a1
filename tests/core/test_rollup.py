"""A whole queue at once: why it waits, and what would let how many start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, TaskLoad, WorkerView
from scheduler.core.levers import MOST_NAMED, MOST_TRIED, Kind
from scheduler.core.rollup import RollUp, left_over, roll_up
from scheduler.core.schedule import run_pass
from scheduler.core.spec import QueueEntry
from scheduler.core.trials import starting, turns
from scheduler.core.why_words import (
    cause_sentence,
    lever_sentence,
    rollup_lead,
)
from tests.core.builders import GB, a_job, a_worker
from tests.core.demanding import crowded_fleets
from tests.core.strategies import queues

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=120, deadline=None)


def holding(*tasks: tuple[str, int]) -> tuple[TaskLoad, ...]:
    return tuple(TaskLoad(job_id=job_id, devices=(index,)) for job_id, index in tasks)


class TestRollUp:
    FLEET = Fleet((
        a_worker("a", gpus="2xA100", tasks=holding(("j-old", 0), ("j-old", 1)), max_concurrent_tasks=4),
        a_worker("b", gpus="T4", labels={"zone": "b"}),
    ))  # fmt: skip

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

    @laws
    @given(queues, crowded_fleets)
    def test_every_running_job_whose_end_would_let_some_start_is_found(
        self, queue: tuple[QueueEntry, ...], fleet: Workers
    ) -> None:
        held_up, left, found = rolled_up(queue, fleet)
        running = {task.job_id for view in left for task in view.tasks}
        starts = {job_id: len(starters(held_up, without(left, job_id))) for job_id in running}
        told = {lever.subject: lever.starts for lever in found.levers if lever.kind is Kind.RELEASE}
        if len(running) <= MOST_TRIED:
            assert told == {job_id: count for job_id, count in starts.items() if count}
        assert all(starts[job_id] == count for job_id, count in told.items())

    @laws
    @given(queues, crowded_fleets)
    def test_a_label_and_a_further_worker_let_as_many_start_as_is_said(
        self, queue: tuple[QueueEntry, ...], fleet: Workers
    ) -> None:
        held_up, left, found = rolled_up(queue, fleet)
        views = {view.id: view for view in left}
        for lever in found.levers:
            if lever.kind is Kind.LABEL and len(lever.workers) < MOST_NAMED:
                key, _, value = lever.subject.partition("=")
                labelled = [with_label(views[worker], key, value) for worker in lever.workers]
                better = {**views, **{view.id: view for view in labelled}}.values()
                assert len(starters(held_up, better)) == lever.starts
            if lever.kind is Kind.WORKER:
                better = [*left, as_new(views[lever.workers[0]])]
                assert len(starters(held_up, better)) == lever.starts


@laws
@given(queues, crowded_fleets, st.data())
def test_whoever_starts_on_a_better_fleet_is_found_by_asking_each_kind_of_job_once(
    queue: tuple[QueueEntry, ...], fleet: Workers, data: st.DataObject
) -> None:
    held_up, left, _ = rolled_up(queue, fleet)
    ids = sorted(view.id for view in left)
    better = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    freed = [replace(view, tasks=()) if view.id in better else view for view in left]
    engine = Engine()
    asked = turns(held_up, engine.begin(left).census)
    assert starting(asked, freed, engine) == starters(held_up, freed)
    if better:
        assert starting(asked, freed, engine, better=better) == starters(held_up, freed)


def rolled_up(queue: tuple[QueueEntry, ...], fleet: Workers) -> tuple[list[QueueEntry], Workers, RollUp]:
    """The jobs that don't start, what the others leave, and the roll-up."""
    decided = [(one.entry, one.decision) for one in run_pass(queue, fleet)]
    held_up = [entry for entry, decision in decided if not decision.assignments]
    return held_up, left_over(Fleet(fleet), decided).workers, roll_up(decided, Fleet(fleet))


def starters(queue: Iterable[QueueEntry], fleet: Iterable[WorkerView]) -> list[str]:
    in_this_order = [replace(entry, submitted_at=None) for entry in queue]
    return [one.entry.job_id for one in run_pass(in_this_order, tuple(fleet)) if one.decision.assignments]


def without(fleet: Workers, job_id: str) -> Workers:
    return tuple(
        replace(view, tasks=tuple(task for task in view.tasks if task.job_id != job_id)) for view in fleet
    )  # fmt: skip


def with_label(view: WorkerView, key: str, value: str) -> WorkerView:
    labels = tuple(sorted({**dict(view.facts.labels), key: value}.items()))
    return replace(view, facts=replace(view.facts, labels=labels))


def as_new(view: WorkerView) -> WorkerView:
    """A worker like this one, with nothing on it and nothing wrong with it."""
    devices = view.facts.devices and tuple(
        replace(device, healthy=True, health_note="", foreign_memory_bytes=0, reserved_for=None, reserved_until=None)
        for device in view.facts.devices
    )
    return WorkerView(
        facts=replace(
            view.facts, id=f"{view.id}-more", reserved_for=None, reserved_until=None, devices=devices, upcoming=()
        )
    )  # fmt: skip
