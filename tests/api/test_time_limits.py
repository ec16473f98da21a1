"""Time limits, kept by hosts, and by the server where an agent does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from scheduler.models import Event, Job
from tests.api.callers import Caller, place
from tests.api.conftest import enrolled
from tests.api.gangs import Time, beat, finish, held, release, run, states

pytestmark = pytest.mark.django_db

LIMIT = 100


@pytest.fixture
def late(clock: Time, enrolment: Callable[..., Caller]) -> Caller:
    """The agent of w1, by the test's clock."""
    return enrolled(enrolment(), "w1")


def test_an_agent_that_goes_on_is_told_to_stop(late: Caller, mira: User, clock: Time) -> None:
    placed = place(late, "w1", owner=mira, timeout_s=LIMIT)
    run(late, placed)
    told = []
    for seq in range(1, 36):
        clock.passes(5)
        told.append(beat(late, placed, seq=seq)["cancel"])
    assert told[: LIMIT // 5 + 10] == [[]] * (LIMIT // 5 + 10)
    assert told[-1] == [placed.task]
    assert Event.objects.filter(verb="overdue").count() == 1
    finish(late, placed, exit_code=None, signal=15)
    assert states(placed) == ("timed_out", "timed_out", "timed_out")
    assert Job.objects.get().failure_text == "it ran longer than its 100 seconds"


def test_without_its_agent_the_job_is_over_and_the_device_stays_held(late: Caller, mira: User, clock: Time) -> None:
    placed = place(late, "w1", owner=mira, timeout_s=LIMIT)
    run(late, placed)
    for seq in range(1, 47):
        clock.passes(5)
        beat(late, placed, seq=seq)
    assert states(placed) == ("timed_out", "timed_out", "timed_out")
    assert held() == 1
    assert finish(late, placed, exit_code=0).json()["code"] == "task_over"
    assert states(placed) == ("timed_out", "timed_out", "timed_out")
    release(late, placed)
    assert held() == 0


def test_a_host_out_of_contact_keeps_the_limit_itself(late: Caller, mira: User, clock: Time) -> None:
    placed = place(late, "w1", owner=mira, timeout_s=LIMIT)
    run(late, placed)
    clock.passes(600, every=7)
    assert states(placed) == ("unknown", "running", "running")
    assert finish(late, placed, exit_code=0).status_code == 200
    assert states(placed) == ("succeeded", "succeeded", "succeeded")


def test_a_server_that_was_away_lets_the_agent_report_first(late: Caller, mira: User, clock: Time) -> None:
    placed = place(late, "w1", owner=mira, timeout_s=LIMIT)
    run(late, placed)
    clock.sleeps(3600)
    clock.look()
    beat(late, placed)
    clock.passes(5)
    assert finish(late, placed, exit_code=None, signal=15, timed_out=True).status_code == 200
    assert states(placed) == ("timed_out", "timed_out", "timed_out")
