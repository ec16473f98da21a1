"""A pass over a queue: first in, first out, and what one job is given is gone for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduler.core.capability import CAPABILITY
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, WorkerFacts, WorkerView
from scheduler.core.reasons import Code, Reason
from scheduler.core.schedule import PassResult, in_order_of_submission, run_pass, schedule
from scheduler.core.spec import Policy, QueueEntry
from tests.core.builders import GB, a_job, a_worker


def where_to(results: list[PassResult]) -> dict[str, str | None]:
    return {
        result.entry.job_id: result.decision.assignments[0].worker if result.decision.assignments else None
        for result in results
    }


def a_pass(queue: list[QueueEntry], fleet: list[WorkerView]) -> list[PassResult]:
    return list(run_pass(queue, fleet))


def test_what_one_job_is_given_is_gone_for_the_next() -> None:
    one, two, three = a_pass([a_job(f"j-{n}", gpus=1) for n in (1, 2, 3)], [a_worker(gpus="2xA100")])
    assert [result.decision.assignments[0].devices for result in (one, two)] == [(0,), (1,)]
    (slots, held) = three.decision.candidate("w1").reasons
    assert (slots.code, held.code, held.holders, held.have) == (Code.SLOTS, Code.GPU_IN_USE, ("j-1", "j-2"), 0)


def test_an_earlier_decision_does_not_see_what_was_placed_after_it() -> None:
    big, small = a_pass([a_job("big", gpus=2), a_job("small", gpus=1)], [a_worker(gpus="2xT4", busy=[0])])
    assert small.decision.assignments[0].devices == (1,)
    (held,) = big.decision.candidate("w1").reasons
    assert (held.code, held.devices, held.holders, held.have) == (Code.GPU_IN_USE, (0,), ("j-0",), 1)


def test_a_job_that_waits_holds_up_no_other() -> None:
    queue = [a_job("big", gpus=4), a_job("small", gpus=1)]
    assert where_to(a_pass(queue, [a_worker(gpus="4xT4", busy=[0])])) == {"big": None, "small": "w1"}


def test_cores_memory_and_disk_are_accounted_for_too() -> None:
    queue = [a_job(f"j-{n}", cores=30_000, memory=100 * GB) for n in range(3)]
    results = a_pass(queue, [a_worker(gpus="4xT4"), a_worker("w2", gpus="4xT4", memory_bytes=150 * GB)])
    assert where_to(results) == {"j-0": "w1", "j-1": "w1", "j-2": "w2"}
    assert [reason.code for reason in results[2].decision.candidate("w1").reasons] == [Code.CPU_IN_USE]


def test_most_free_memory_follows_what_the_pass_has_placed() -> None:
    queue = [a_job(f"j-{n}", gpus=1, policy=Policy.MOST_FREE_MEMORY) for n in range(4)]
    fleet = [a_worker("a", gpus="2xA100"), a_worker("b", gpus="3xA100"), a_worker("c", gpus="?")]
    assert where_to(a_pass(queue, fleet)) == {"j-0": "b", "j-1": "a", "j-2": "b", "j-3": "a"}
    rams = [a_job(f"j-{n}", memory=100 * GB, policy=Policy.MOST_FREE_MEMORY) for n in range(3)]
    hosts = [a_worker("a", gpus="2xT4", memory_bytes=450 * GB), a_worker("b", gpus="2xT4", memory_bytes=None)]
    assert where_to(a_pass(rams, [*hosts, a_worker("c", gpus="2xT4")])) == {"j-0": "c", "j-1": "a", "j-2": "c"}


def test_most_free_memory_goes_up_when_a_device_of_unknown_memory_is_taken() -> None:
    queue = [
        a_job("before", gpus=1, policy=Policy.MOST_FREE_MEMORY),
        a_job("takes it", gpus=1, policy=Policy.FIRST_FIT),
        *(a_job(f"j-{n}", gpus=1, policy=Policy.MOST_FREE_MEMORY) for n in range(4)),
    ]
    fleet = [a_worker("a", gpus="?+2xA100"), a_worker("b", gpus="3xT4")]
    decided = where_to(a_pass(queue, fleet))
    assert decided == {"before": "b", "takes it": "a", "j-0": "a", "j-1": "a", "j-2": "b", "j-3": "b"}


ORDERS = [
    pytest.param([("b", 2), ("a", 1)], ["a", "b"], id="by submission"),
    pytest.param([("b", 1), ("a", 1)], ["a", "b"], id="then by job id"),
    pytest.param([("b", None), ("a", 1)], ["b", "a"], id="as listed where one does not say"),
    pytest.param(
        [("b", "2026-01-01T00:00:00.5Z"), ("a", "2026-01-01T00:00:01Z"), ("c", "2026-01-01T00:00:00+00:00")],
        ["c", "b", "a"], id="instants compare as instants, however they are written",
    ),
    pytest.param([("b", "2026-01-01T02:00:00+02:00"), ("a", "2026-01-01T00:00:01")], ["b", "a"], id="UTC by default"),
]  # fmt: skip


@pytest.mark.parametrize(("submitted", "expected"), ORDERS)
def test_the_queue_is_taken_in_order(submitted: list[tuple[str, str | float | None]], expected: list[str]) -> None:
    queue = [QueueEntry(job_id=job, spec=a_job().spec, submitted_at=instant) for job, instant in submitted]
    assert [entry.job_id for entry in in_order_of_submission(queue)] == expected


def test_positions_count_from_the_first_job_of_the_pass() -> None:
    assert [result.position for result in a_pass([a_job("a"), a_job("b")], [])] == [0, 1]


def test_a_fleet_will_do_as_well_as_a_list_of_workers() -> None:
    workers = (a_worker("b"), a_worker("a"))
    assert schedule(a_job(gpus=1), Fleet(workers), "j-1") == schedule(a_job(gpus=1), workers, "j-1")


def test_a_bare_spec_will_do_as_well_as_a_queue_entry() -> None:
    job = a_job("j-9", gpus=1)
    assert schedule(job.spec, [a_worker(reserved_for="j-9")], "j-9") == schedule(
        job, [a_worker(reserved_for="j-9")], "j-9"
    )


def test_what_is_kept_between_passes_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.core.census.MOST_ANSWERS", 3)
    engine = Engine()
    for memory in range(1, 9):
        fleet = [a_worker(memory_bytes=memory * GB, provider=f"p{memory}"), a_worker("w2", provider=f"q{memory}")]
        job = a_job(memory=memory * GB, provider=f"q{memory}")
        assert schedule(job, fleet, "j-1", engine=engine) == schedule(job, fleet, "j-1")


def test_a_question_is_put_once_to_each_class_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    check = CAPABILITY[Code.GPU_MEMORY]

    def counted(entry: QueueEntry, facts: WorkerFacts) -> Iterator[Reason]:
        asked.append(facts.id)
        return check(entry, facts)

    monkeypatch.setitem(CAPABILITY, Code.GPU_MEMORY, counted)
    fleet = [a_worker(f"w{n}", gpus=("4xT4", "2xA100")[n % 2], labels={"host": f"w{n}"}) for n in range(300)]
    queue = [a_job(f"j-{n}", gpus=1, gpu_memory=(10 + 30 * (n % 2)) * GB, cores=n) for n in range(200)]
    assert sum(bool(result.decision.assignments) for result in run_pass(queue, fleet)) == 200
    assert len(asked) == 2 * 2  # kinds of request x classes of devices
