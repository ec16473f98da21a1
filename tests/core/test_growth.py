"""The work of deciding a queue grows no faster than the fleet and the queue do: counted, not timed.

Counted are calls of functions, and of every operation on a set of workers the words of memory that it goes through:
these would grow with jobs times workers where a job looked at sets of the whole fleet, or changed them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from benchmarks import fleets
from scheduler.core import bits
from scheduler.core.fleet import WorkerView
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.core.schedule import run_pass
from scheduler.core.spec import Policy, QueueEntry

WORKERS = 320
"""Of the smallest fleet; the others have twice and four times as many, so that the queue and they grow alike."""
MOST = 2.3
"""From twice to four times as much is twice the step from once to twice: a little more, since chance is in it."""
SMALL_BLOCKS = 64
"""So that small fleets have several."""
ONE_BLOCK = 1 << 20

Queue = list[QueueEntry]


class Tally:
    """What was done."""

    def __init__(self) -> None:
        self.calls = self.words = 0

    def note(self, frame: object, event: str, argument: object) -> None:
        self.calls += event in {"call", "c_call"}


def counted_numbers(tally: Tally) -> type[int]:
    """Whole numbers that tell of every operation between them how long they are; what comes of it are such again."""

    class Counted(int):
        pass

    def counting(plain: Callable[[int, int], int]) -> Callable[[int, int], int]:
        def operation(number: int, other: int) -> int:
            tally.words += max(number.bit_length(), other.bit_length()) // 64 + 1
            return Counted(plain(number, other))

        return operation

    for name in ("and", "or", "xor", "sub"):
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(Counted, method, counting(getattr(int, method)))
    return Counted


def work(queue: Iterable[QueueEntry], fleet: Iterable[WorkerView], block: int = SMALL_BLOCKS) -> Tally:
    """Decide the queue, and say how much was done for it."""
    tally = Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "BLOCK", block)
        patch.setattr(bits, "int", counted_numbers(tally), raising=False)
        before = sys.getprofile()
        sys.setprofile(tally.note)
        try:
            for _ in run_pass(queue, fleet):
                pass
        finally:
            sys.setprofile(before)
    return tally


def a_fleet(workers: int) -> list[WorkerView]:
    return [parse_worker(document) for document in fleets.workers(workers, 1)]


def a_queue(jobs: int, shapes: int = 20) -> Queue:
    return [parse_queue_entry(job, position=place) for place, job in enumerate(fleets.jobs(jobs, shapes, 1))]


def by_memory(queue: Queue) -> Queue:
    return [replace(job, spec=replace(job.spec, policy=Policy.MOST_FREE_MEMORY)) for job in queue]


def failed_before(queue: Queue) -> Queue:
    return [replace(job, failed_on=tuple(f"n{(7 * n + m) % 300:05d}" for m in range(3))) for n, job in enumerate(queue)]


def as_it_comes(queue: Queue) -> Queue:
    return queue


def steps(work_of: Callable[[int], Tally]) -> tuple[float, float]:
    """How many times the second step is the first, in calls and in words: what there is once and for all drops out."""
    once, twice, four_times = (work_of(WORKERS * times) for times in (1, 2, 4))
    return (
        (four_times.calls - twice.calls) / (twice.calls - once.calls),
        (four_times.words - twice.words) / (twice.words - once.words),
    )


KINDS = [
    pytest.param(as_it_comes, 20, 1, id="few shapes"),
    pytest.param(as_it_comes, 200, 1, id="many shapes"),
    pytest.param(as_it_comes, 20, 2, id="many jobs have to wait"),
    pytest.param(by_memory, 20, 1, id="all by free memory"),
    pytest.param(failed_before, 20, 1, id="all have failed on some"),
]


@pytest.mark.parametrize(("changed", "shapes", "jobs_each"), KINDS)
def test_work_grows_no_faster_than_fleet_and_queue(
    changed: Callable[[Queue], Queue], shapes: int, jobs_each: int
) -> None:
    calls, words = steps(lambda workers: work(changed(a_queue(workers * jobs_each, shapes)), a_fleet(workers)))
    assert calls < MOST
    assert words < MOST


@pytest.mark.parametrize("changed", [as_it_comes, by_memory])
def test_the_count_notices_sets_of_the_whole_fleet(changed: Callable[[Queue], Queue]) -> None:
    """All in one block: every change of a set goes through all of it, and so does every look."""
    _, words = steps(lambda workers: work(changed(a_queue(workers)), a_fleet(workers), ONE_BLOCK))
    assert words > 1.4 * MOST
