"""What a change of the fleet means for jobs that wait: the plain rule on both fleets says the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core import rule
from scheduler.core.compare import MOST_COMPARED, MOST_NAMED, Changed, Effect, compare
from scheduler.core.decision import Verdict
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.spec import QueueEntry
from tests.core.builders import a_job, a_worker
from tests.core.strategies import a_random_worker, coin, fleets, queues
from tests.core.test_laws import laws, plainly

Queue = tuple[QueueEntry, ...]
Workers = tuple[WorkerView, ...]
HELD = {"zone": "a"}
IDLE = (a_worker("w1"), a_worker("w2", gpus="2xT4", labels=HELD))
DRAINING = (IDLE[0], replace(IDLE[1], draining=True))
EMPTY = (IDLE[0], a_worker("w2", gpus=(), labels=HELD))
UNLABELLED = (IDLE[0], a_worker("w2", gpus="2xT4"))
BUSY = (a_worker("w1", busy=[0]), a_worker("w2", gpus="2xT4", labels=HELD, busy=[0, 1]))
AWAY = tuple(replace(worker, online=False) for worker in BUSY)


def both(entries: Iterable[QueueEntry], before: Workers, after: Workers) -> tuple[Changed, ...]:
    return compare(entries, Fleet(before), Fleet(after))


CHANGES = [
    pytest.param(a_job(gpus=2), IDLE, EMPTY, Effect.NEVER_FITS, id="its only worker loses its devices"),
    pytest.param(a_job(gpus=2), EMPTY, IDLE, Effect.FITS, id="the first worker that fits comes"),
    pytest.param(a_job(gpus=2), IDLE, DRAINING, Effect.NO_START, id="the worker that would take it drains"),
    pytest.param(a_job(gpus=2), DRAINING, IDLE, Effect.STARTS, id="the drain of the only one ends"),
    pytest.param(a_job(gpus=1), IDLE, DRAINING, Effect.LOSES, id="one of two drains"),
    pytest.param(a_job(gpus=1), DRAINING, IDLE, Effect.GAINS, id="a second one is free again"),
    pytest.param(a_job(gpus=1), BUSY, AWAY, None, id="what was held goes offline"),
    pytest.param(a_job(labels=HELD), IDLE, UNLABELLED, Effect.NEVER_FITS, id="the label it asks for is taken away"),
    pytest.param(a_job(), IDLE, UNLABELLED, None, id="a label that it doesn't ask for"),
    pytest.param(a_job(gpus=1), BUSY, (*BUSY, a_worker("w3")), Effect.STARTS, id="one more worker"),
    pytest.param(a_job(gpus=1), IDLE[:1], IDLE[1:], Effect.SHIFTS, id="one worker for another"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "before", "after", "effect"), CHANGES)
def test_each_job_is_told_the_worst_that_becomes_of_it(
    job: QueueEntry, before: Workers, after: Workers, effect: Effect | None
) -> None:
    assert [one.effect for one in both([job], before, after)] == ([effect] if effect else [])


def test_the_worst_comes_first_and_then_the_queue() -> None:
    queue = [a_job("j-1", gpus=1), a_job("j-2", gpus=2), a_job("j-3", gpus=1, labels=HELD), a_job("j-4", gpus=2)]
    told = [(one.entry.job_id, one.effect) for one in both(queue, IDLE, EMPTY)]
    assert told == [
        ("j-2", Effect.NEVER_FITS), ("j-3", Effect.NEVER_FITS), ("j-4", Effect.NEVER_FITS), ("j-1", Effect.LOSES),
    ]  # fmt: skip


def test_workers_gained_and_lost_are_counted_and_some_of_them_named() -> None:
    fleet = tuple(a_worker(f"w{n}") for n in range(9))
    (one,) = both([a_job(gpus=1)], fleet, tuple(replace(view, draining=True) for view in fleet[:7]) + fleet[7:])
    assert (one.free.before, one.free.after, one.free.lost, one.free.gained) == (9, 2, 7, 0)
    assert one.free.lost_examples == ("w0", "w1", "w2", "w3", "w4")
    assert (one.can_run.before, one.can_run.lost, one.can_run.lost_examples) == (9, 0, ())


def test_an_earlier_job_that_starts_no_more_lets_a_later_one_start() -> None:
    queue = [a_job("j-1", gpus=2, labels=HELD), a_job("j-2", gpus=2)]
    told = [(one.entry.job_id, one.effect) for one in both(queue, IDLE[1:], UNLABELLED[1:])]
    assert told == [("j-1", Effect.NEVER_FITS), ("j-2", Effect.STARTS)]


def test_jobs_of_one_kind_share_what_is_told_of_them() -> None:
    one, two = both([a_job("j-1", gpus=2), a_job("j-2", gpus=2)], IDLE, EMPTY)
    assert one.can_run is two.can_run


def test_only_the_first_ten_thousand_are_asked() -> None:
    job = a_job(gpus=2)
    queue = [replace(job, job_id=f"j-{number}") for number in range(MOST_COMPARED + 5)]
    assert len(both(queue, IDLE, EMPTY)) == MOST_COMPARED


def test_nothing_comes_of_no_jobs_and_of_no_change() -> None:
    assert both([], IDLE, EMPTY) == both([a_job(gpus=1)], IDLE, IDLE) == ()


def changed(fleet: Workers, dice: Random) -> Workers:
    """The fleet with some workers drained, gone, away or replaced."""
    after = []
    for worker in fleet:
        if not coin(dice, 6):
            other = a_random_worker(dice, worker.id) if coin(dice, 3) else worker
            after.append(replace(other, draining=not other.draining) if coin(dice, 3) else other)
    return tuple(after)


@laws
@given(queues, fleets, st.integers(0, 2**32 - 1).map(Random))
def test_the_plain_rule_says_the_same_of_both_fleets(queue: Queue, fleet: Workers, dice: Random) -> None:
    after = changed(fleet, dice)
    found = {one.entry.job_id: one for one in both(queue, fleet, after)}
    starts = [{done.job_id for done in plainly(queue, side) if done.assignments} for side in (fleet, after)]
    for entry in queue:
        was, will = (rule.decide(entry, side) for side in (fleet, after))
        sides = []
        for decision in (was, will):
            able = {one.worker for one in decision.candidates if one.verdict is not Verdict.INCOMPATIBLE}
            free = {one.worker for one in decision.candidates if not one.reasons}
            sides.append((able, free))
        different = sides[0] != sides[1] or was.ever_schedulable != will.ever_schedulable
        different |= (entry.job_id in starts[0]) != (entry.job_id in starts[1])
        assert (entry.job_id in found) == different
        if not different:
            continue
        told = found[entry.job_id]
        assert (told.fits_before, told.fits_after) == (was.ever_schedulable, will.ever_schedulable)
        assert (told.starts_before, told.starts_after) == tuple(entry.job_id in side for side in starts)
        for moved, before, now in zip((told.can_run, told.free), *sides, strict=True):
            assert (moved.before, moved.after) == (len(before), len(now))
            assert (moved.gained, moved.lost) == (len(now - before), len(before - now))
            assert moved.gained_examples == tuple(sorted(now - before)[:MOST_NAMED])
            assert moved.lost_examples == tuple(sorted(before - now)[:MOST_NAMED])
