"""What is said of a change beforehand is what the next pass does; nothing is written by saying it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import pytest
from pytest_django.fixtures import Settings

from scheduler.core.compare import Effect
from scheduler.core.fleet import Window
from scheduler.models import Job, SchedulingPass
from scheduler.services.reservations import end_reservation
from scheduler.services.whatif import preview
from tests.factories import NOW, a_job, a_pass, a_reservation, a_user, a_worker, later, states
from workers import services
from workers.models import Worker
from workers.proposed import Change

pytestmark = pytest.mark.django_db

ADA = "user:ada"


def key(name: str) -> int:
    return Worker.objects.get(name=name).pk


def effects(change: Change, jobs: Iterable[Job], **who: object) -> list[str]:
    """What is said of each job; empty for nothing."""
    said = {one.job_id: one.effect.value for one in preview(change, now=later(seconds=1), **who).jobs}
    return [said.get(job.job_id, "") for job in jobs]


CHANGES: dict[str, tuple[Change, Callable[[], object], list[str], list[str]]] = {
    "a label opens the free worker": (
        Change(workers=("free",), labels={"rack": "r1"}),
        lambda: services.change_labels([key("free")], labels={"rack": "r1"}, actor=ADA, now=NOW),
        ["starts", "gains"], ["assigned", "queued"],
    ),
    "the agent's label counts again": (
        Change(workers=("busy",), unlabels=("rack",)),
        lambda: services.change_labels([key("busy")], removed=["rack"], actor=ADA, now=NOW),
        ["never_fits", "never_fits"], ["queued", "queued"],
    ),
    "more tasks at once": (
        Change(workers=("busy",), limits={"max_concurrent_tasks": None}),
        lambda: services.set_limits([key("busy")], limits={"max_concurrent_tasks": None}, actor=ADA, now=NOW),
        ["starts", "gains"], ["assigned", "queued"],
    ),
    "the only worker drains": (
        Change(workers=("busy",), drain=True),
        lambda: services.drain(name="busy", note="", actor=ADA, now=NOW),
        ["never_fits", "never_fits"], ["queued", "queued"],
    ),
}  # fmt: skip


@pytest.fixture
def jobs() -> list[Job]:
    """Two jobs that wait for rack r1: `busy` has it by an operator's word, and takes one task; `free` has it not."""
    a_worker("busy", gpus="2xA100", labels={"rack": "r0"})
    a_worker("free", gpus="1xA100")
    services.change_labels([key("busy")], labels={"rack": "r1"}, actor=ADA, now=NOW)
    services.set_limits([key("busy")], limits={"max_concurrent_tasks": 1}, actor=ADA, now=NOW)
    made = [a_job(placement={"worker_labels": {"rack": "r1"}}) for _ in range(3)]
    a_pass()
    assert states(*made) == ["assigned", "queued", "queued"]
    return made[1:]


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_said_is_what_the_next_pass_does(jobs: list[Job], name: str) -> None:
    change, do, said, after = CHANGES[name]
    assert effects(change, jobs) == said
    assert states(*jobs) == ["queued", "queued"], "nothing is done by asking"
    do()
    a_pass(later(seconds=2))
    assert states(*jobs) == after


def test_a_reservation_keeps_others_out_and_its_end_lets_them_in() -> None:
    worker = a_worker("w1")
    reservation = a_reservation(worker, "team:vision", ends_at=later(hours=1))
    job = a_job()
    a_pass()
    assert effects(Change(ended=(reservation.pk,)), [job]) == ["starts"]
    end_reservation(reservation=reservation, actor=ADA, now=later(seconds=1))
    a_pass(later(seconds=2))
    assert states(job) == ["assigned"]
    other = a_job()
    a_pass(later(seconds=3))
    kept = Window(holder="team:vision", starts_at=later(hours=2))
    assert effects(Change(windows=(("w1", kept),)), [other]) == [""], "w1 is taken for the present"
    kept = Window(holder="team:vision", starts_at=NOW)
    assert effects(Change(windows=(("w1", kept),)), [other]) == ["never_fits"]


def test_notice_of_a_reservation_is_given_as_passes_give_it(settings: Settings) -> None:
    settings.GPULAYER_RESERVATION_NOTICE_SECONDS = 3600
    worker = a_worker("w1")
    job = a_job()
    kept = {"holder": "team:vision", "starts_at": later(hours=5)}
    assert effects(Change(windows=(("w1", Window(**kept)),)), [job]) == [""], "jobs without a limit may start till then"
    a_reservation(worker, **kept)
    a_pass(later(seconds=2))
    assert states(job) == ["assigned"]


def test_what_it_asks_the_database_does_not_grow_with_the_fleet(
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    rows = [a_reservation(a_worker(f"w{number}"), "team:vision") for number in range(12)]
    a_job()
    a_pass()
    change = Change(
        ended=tuple(row.pk for row in rows[:2]), windows=(("w5", Window(holder="user:noa", starts_at=NOW)),)
    )
    preview(change, now=NOW)
    with django_assert_max_num_queries(8):
        assert preview(change, now=NOW).changed == 1


def test_a_worker_that_drains_already_is_no_help_to_a_job_that_loses_its_last_one() -> None:
    for name in ("w1", "w2"):
        a_worker(name)
    services.drain(name="w2", note="", actor=ADA, now=NOW)
    for _ in range(2):
        job = a_job()
    a_pass()
    (told,) = preview(Change(workers=("w1",), drain=True), now=NOW).jobs
    assert (told.job_id, told.effect, told.can_run) == (job.job_id, Effect.NEVER_FITS, (1, 0))
    back = preview(Change(workers=("w2",), drain=False), now=NOW)
    assert back.parts == "1 would start now."


def test_before_the_first_pass_it_is_the_fleet_as_it_is() -> None:
    a_worker("w1")
    job = a_job()
    found = preview(Change(workers=("w1",), retire=True), now=NOW)
    assert (found.pass_number, [one.job_id for one in found.jobs]) == (None, [job.job_id])
    assert not SchedulingPass.objects.exists()


def test_jobs_of_others_are_counted_and_not_named(settings: Settings) -> None:
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    a_worker("w1")
    mira, jonas = a_user("mira"), a_user("jonas")
    mine = a_job(owner=mira)
    a_job(owner=jonas)
    change = Change(workers=("w1",), retire=True)
    found = preview(change, now=NOW, user=mira)
    assert ([one.job_id for one in found.jobs], found.hidden, found.changed) == ([mine.job_id], 1, 2)
    assert preview(change, now=NOW, user=a_user("ada", staff=True)).hidden == 0


def test_an_empty_queue_and_an_empty_change() -> None:
    a_worker("w1")
    assert preview(Change(workers=("w1",), drain=True), now=NOW).lead == "No job is waiting."
    a_job()
    assert preview(Change(), now=NOW).lead == "Nothing changes for the one waiting job."
