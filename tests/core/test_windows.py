"""Reservations that have yet to begin, and jobs that wait for their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from scheduler.core.explain import answer
from scheduler.core.fleet import Fleet, Window, WorkerView
from scheduler.core.reasons import Code, Reason
from scheduler.core.relax import relaxations
from scheduler.core.rollup import roll_up
from scheduler.core.scene import Scene
from scheduler.core.schedule import run_pass, schedule
from scheduler.core.sentences import sentence
from scheduler.core.spec import QueueEntry
from scheduler.core.windows import any_in_the_way, seen_at, turns_with_time
from scheduler.core.words import lasting
from tests.core.builders import a_job, a_worker, devices, with_device
from tests.core.conftest import Decide

NOW = datetime(2026, 11, 30, 14, 40, tzinfo=UTC)
SIX = datetime(2026, 11, 30, 18, tzinfo=UTC)
EIGHT = datetime(2026, 11, 30, 20, tzinfo=UTC)
GAP = 12_000
VISION = "team:vision"


def limited(entry: QueueEntry, **limit: int) -> QueueEntry:
    """The job with `timeout_s` or `hold_s`."""
    return replace(entry, spec=replace(entry.spec, **limit))  # type: ignore[arg-type]


def own_only(entry: QueueEntry) -> QueueEntry:
    """The job, waiting for its own reservation."""
    return replace(entry, spec=replace(entry.spec, placement=replace(entry.spec.placement, reserved_only=True)))


def kept(view: WorkerView, *windows: Window) -> WorkerView:
    """The worker with these reservations ahead, seen now."""
    return replace(view, facts=replace(view.facts, upcoming=windows), at=NOW)


def a_window(holder: str = VISION, starts_at: datetime = SIX, **fields: object) -> Window:
    return Window(holder=holder, starts_at=starts_at, ends_at=EIGHT, **fields)  # type: ignore[arg-type]


def reasons(decide: Decide, entry: QueueEntry, worker: WorkerView) -> tuple[Reason, ...]:
    return decide(entry, [worker]).candidates[0].reasons


ONE = a_job(gpus=1)
WHOLE = kept(a_worker(), a_window())
SOON = kept(a_worker(), a_window(starts_at=NOW + timedelta(seconds=1)))
LATER = kept(a_worker(), a_window(starts_at=NOW + timedelta(hours=24, seconds=1)))
FITTING = [
    pytest.param(limited(ONE, timeout_s=GAP), WHOLE, None, id="over when it begins"),
    pytest.param(limited(ONE, timeout_s=GAP + 1), WHOLE, GAP, id="a second longer"),
    pytest.param(limited(ONE, hold_s=GAP), WHOLE, None, id="a hold that is over"),
    pytest.param(limited(ONE, hold_s=GAP + 1), WHOLE, GAP, id="a longer hold"),
    pytest.param(ONE, WHOLE, GAP, id="no limit, a few hours before"),
    pytest.param(ONE, LATER, None, id="no limit, more than a day before"),
    pytest.param(limited(ONE, timeout_s=86_402), LATER, 86_401, id="a known limit that is too long, a day before"),
    pytest.param(a_job(gpus=1, holders=[VISION]), WHOLE, None, id="its own team's"),
    pytest.param(ONE, replace(WHOLE, at=None), None, id="nobody looks ahead"),
    pytest.param(limited(ONE, timeout_s=5), SOON, 1, id="hardly any time left"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "enough"), FITTING)
def test_a_job_starts_that_is_over_before(decide: Decide, job: QueueEntry, worker: WorkerView, enough: int) -> None:
    found = reasons(decide, job, worker)
    assert [(reason.code, reason.enough_at) for reason in found] == ([(Code.RESERVED_FROM, enough)] if enough else [])


def test_the_longest_limit_that_fits_is_a_limit_that_fits(decide: Decide) -> None:
    worker = kept(a_worker(), a_window("user:mira", SIX - timedelta(minutes=7.5)), a_window(starts_at=SIX))
    (reason,) = reasons(decide, ONE, worker)
    assert reason.enough_at == GAP - 450
    assert not reasons(decide, limited(ONE, timeout_s=GAP - 450), worker)
    assert reasons(decide, limited(ONE, timeout_s=GAP - 449), worker)


def on(*indices: int, **fields: object) -> Window:
    return a_window(devices=indices, **fields)


OF_DEVICES = [
    pytest.param(a_job(gpus=3), (on(0),), {}, [], id="the others are enough"),
    pytest.param(a_job(gpus=4), (on(0),), {}, [(Code.GPU_RESERVED_FROM, (0,), GAP)], id="one too few"),
    pytest.param(
        a_job(gpus=3), (on(0), on(1, starts_at=SIX - timedelta(hours=1))), {},
        [(Code.GPU_RESERVED_FROM, (0, 1), GAP)], id="the one that is kept last is enough",
    ),
    pytest.param(
        a_job(gpus=4), (on(1, starts_at=SIX - timedelta(hours=1)), on(0)), {},
        [(Code.GPU_RESERVED_FROM, (0, 1), GAP - 3600)], id="both are needed",
    ),
    pytest.param(
        a_job(gpus=4), (on(0),), {"busy": [0, 3]},
        [(Code.SLOTS, (), None), (Code.GPU_RESERVED_FROM, (0,), None), (Code.GPU_IN_USE, (3,), None)],
        id="no limit frees what a task holds",
    ),
    pytest.param(
        a_job(gpus=4), (on(0),), {"gpus": with_device(devices("4xT4"), 0, healthy=False)},
        [(Code.GPU_UNHEALTHY, (0,), None)], id="a broken one is charged to that",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "windows", "facts", "expected"), OF_DEVICES)
def test_devices_are_kept_one_by_one(
    decide: Decide, job: QueueEntry, windows: tuple[Window, ...], facts: dict[str, object], expected: list[object]
) -> None:
    worker = kept(a_worker(**({"gpus": "4xT4", "max_concurrent_tasks": 2} | facts)), *windows)  # type: ignore[arg-type]
    found = [(reason.code, reason.devices, reason.enough_at) for reason in reasons(decide, job, worker)]
    assert found == expected


def test_devices_that_are_kept_soon_are_not_picked(decide: Decide) -> None:
    (place,) = decide(a_job(gpus=1), [kept(a_worker(gpus="2xT4"), on(0))]).assignments
    assert place.devices == (1,)


TOLD = [
    (
        limited(ONE, timeout_s=18_000), WHOLE,
        ("reserved for team vision from 2026-11-30 18:00 UTC until 2026-11-30 20:00 UTC; this job fits before if its"
        " limit, now 5 h, is at most 3 h 20 min (timeout_s: 12000)"),
    ),
    (
        ONE, WHOLE,
        ("reserved for team vision from 2026-11-30 18:00 UTC until 2026-11-30 20:00 UTC; this job has no time limit and"
        " could run into it: with one of at most 3 h 20 min (timeout_s: 12000) it fits before"),
    ),
    (
        ONE, kept(a_worker(), on(0)),
        ("needs 1 GPU, 0 of 1 are free: device 0 is reserved for team vision from 2026-11-30 18:00 UTC until 2026-11-30"
        " 20:00 UTC; with a time limit of at most 3 h 20 min (timeout_s: 12000) this job fits before"),
    ),
    (
        own_only(a_job(gpus=1, holders=[VISION])), WHOLE,
        ("not reserved for this job, which waits for its own reservation (placement.reserved_only); that begins at"
        " 2026-11-30 18:00 UTC"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "words"), TOLD, ids=["too long", "no limit", "a device", "its own"])
def test_it_is_said_in_a_sentence(decide: Decide, job: QueueEntry, worker: WorkerView, words: str) -> None:
    assert [sentence(reason) for reason in reasons(decide, job, worker)] == [words]


def test_jobs_of_one_shape_are_told_their_own_limits() -> None:
    queue = [limited(a_job(f"j-{hours}", gpus=1), timeout_s=hours * 3600) for hours in (5, 6)]
    found = [result.decision.candidates[0].reasons[0].required for result in run_pass(queue, [WHOLE])]
    assert found == [5 * 3600, 6 * 3600]


def test_what_has_begun_is_in_force_and_what_is_over_is_gone() -> None:
    worker = kept(a_worker(gpus="2xT4"), a_window(), on(1))
    (before,), (then,), (after,) = (seen_at([worker], at) for at in (NOW, SIX, EIGHT))
    assert before is worker
    assert (then.facts.reserved_for, then.facts.reserved_until, then.facts.upcoming) == (VISION, EIGHT, ())
    assert [card.reserved_for for card in then.facts.devices or ()] == [None, VISION]
    assert (after.facts.reserved_for, after.facts.upcoming, after.at) == (None, (), None)


def test_all_are_seen_at_the_latest_instant_that_one_of_them_states() -> None:
    early, late = replace(WHOLE, at=NOW), replace(kept(a_worker("w2"), a_window()), at=NOW + timedelta(hours=1))
    assert {view.at for view in seen_at([early, late])} == {late.at}
    assert schedule(ONE, [early, late], "j-1").candidates[0].reasons[0].enough_at == GAP - 3600


def test_its_own_reservation_is_a_worker_or_some_of_its_devices(decide: Decide) -> None:
    job = own_only(a_job(gpus=2, holders=[VISION]))
    cards = with_device(devices("3xT4"), 1, reserved_for=VISION)
    fleet = {
        "nobody's": a_worker(gpus="3xT4"),
        "whole": a_worker(gpus="3xT4", reserved_for=VISION),
        "one device": a_worker(gpus=cards),
        "two devices": a_worker(gpus=with_device(cards, 2, reserved_for=VISION)),
        "a device beside the whole": a_worker(gpus=cards, reserved_for=VISION),
    }
    found = {name: [reason.code for reason in reasons(decide, job, worker)] for name, worker in fleet.items()}
    assert found == {
        "nobody's": [Code.NOT_RESERVED], "whole": [], "one device": [Code.GPU_NOT_RESERVED], "two devices": [],
        "a device beside the whole": [],
    }  # fmt: skip
    assert decide(job, [fleet["two devices"]]).assignments[0].devices == (1, 2)


def test_workers_whose_devices_are_kept_alike_differ_in_what_is_kept_of_the_worker() -> None:
    cards = with_device(devices("3xT4"), 1, reserved_for=VISION)
    fleet = [a_worker("a", gpus=cards), a_worker("b", gpus=cards, reserved_for=VISION)]
    found = schedule(own_only(a_job(gpus=2, holders=[VISION])), fleet, "j-1")
    assert [place.worker for place in found.assignments] == ["b"]


def test_a_job_without_devices_needs_the_worker_itself(decide: Decide) -> None:
    cards = with_device(devices("2xT4"), 0, reserved_for=VISION)
    job = own_only(a_job(holders=[VISION]))
    assert [reason.code for reason in reasons(decide, job, a_worker(gpus=cards))] == [Code.NOT_RESERVED]
    assert not reasons(decide, job, a_worker(reserved_for=VISION))


def test_a_job_that_waits_for_its_own_reservation_waits_and_is_never_given_up() -> None:
    found = schedule(own_only(ONE), [a_worker()], "j-1")
    assert found.ever_schedulable
    assert answer(own_only(ONE), found).lead == "Waiting: only w1 can run this job, and it is not free now."


def test_the_nearest_limit_is_offered_and_lets_it_start() -> None:
    for job in (ONE, limited(ONE, timeout_s=18_000)):
        (edit,) = relaxations(Scene(job, [WHOLE])).alone
        assert (edit.changes[0].field, edit.changes[0].after, edit.starts) == ("timeout_s", "3 h 20 min", True)
        assert edit.spec.timeout_s == GAP
    (dropped,) = relaxations(Scene(own_only(ONE), [a_worker()])).alone
    assert (dropped.changes[0].field, dropped.starts) == ("placement.reserved_only", True)


def test_no_limit_is_offered_where_nothing_is_ahead() -> None:
    assert not relaxations(Scene(ONE, [a_worker(busy=[0])])).alone


def test_a_queue_is_rolled_up_with_reservations_ahead() -> None:
    queue = [limited(a_job(f"j-{n}", gpus=1), timeout_s=GAP + n) for n in range(3)]
    decided = [(result.entry, result.decision) for result in run_pass(queue, [WHOLE])]
    found = roll_up(decided, Fleet((WHOLE,)))
    assert (found.placed, [(cause.codes, cause.jobs) for cause in found.causes]) == (1, [((Code.RESERVED_FROM,), 2)])


TURNS: list[tuple[str, int | None, timedelta, bool]] = [
    ("the limit still fits", GAP - 60, timedelta(seconds=60), False),
    ("the limit fits no more", GAP - 60, timedelta(seconds=61), True),
    ("it did not fit before", GAP + 1, timedelta(hours=1), False),
    ("notice was given before", None, timedelta(hours=1), False),
]


@pytest.mark.parametrize(("limit", "later", "turns"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_time_alone_turns_an_answer(limit: int | None, later: timedelta, turns: bool) -> None:
    assert turns_with_time([limit], [a_window()], NOW, NOW + later) is turns


def test_notice_that_is_given_meanwhile_turns_an_answer() -> None:
    window = a_window(notice_s=3600)
    assert turns_with_time([None], [window], NOW, SIX - timedelta(hours=1))
    assert not turns_with_time([None], [window], NOW, SIX - timedelta(hours=1, seconds=1))
    assert any_in_the_way([None], [window], SIX - timedelta(hours=1))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(45, "45 s"), (60, "1 min"), (3600, "1 h"), (GAP, "3 h 20 min"), (90_000, "1 d 1 h"), (86_400, "1 d")],
)
def test_spans_in_words(seconds: int, words: str) -> None:
    assert lasting(seconds) == words
