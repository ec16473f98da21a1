"""Retention: what is old or too much goes, in batches, and nothing that somebody still needs."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from gpulayer_site.keeping import Keep
from scheduler.models import (
    Attempt,
    AttemptState,
    Bundle,
    Decision,
    DeviceHold,
    Event,
    Job,
    JobState,
    OutputFile,
    SchedulingPass,
    Task,
    TaskState,
    Upkeep,
)
from scheduler.services import retention, retention_rows
from scheduler.services.jobs import cancel_job
from scheduler.services.log_frames import Frame, encode
from scheduler.services.logs import append_log, log_key, read_bytes
from scheduler.services.recorded import recorded
from scheduler.storage import Key, Kind, append, storage
from tests.factories import NOW, a_job, a_pass, a_user, a_worker, changed, later, new_facts, worker_document
from workers.services import seals
from workers.services.seals import seal_events
from workers.services.trail_check import check_trail

pytestmark = pytest.mark.django_db

AWAKE = later(days=10_000)
"""When a worker was last heard of that is online in every pass here."""
OLD = 100
"""Days after which anything is old here, but for events."""


@pytest.fixture(autouse=True)
def limits(settings: Settings, tmp_path: Path) -> dict[str, Keep]:
    settings.GPULAYER_DATA = tmp_path
    settings.GPULAYER_AUDIT_DAYS = 90
    settings.GPULAYER_KEEP = {
        kind: Keep(days, 0)
        for kind, days in {"logs": 90, "outputs": 30, "decisions": 90, "passes": 90, "events": 400}.items()
    }
    return settings.GPULAYER_KEEP


def run(now: datetime) -> dict[str, int]:
    return {kind: count for kind, count in retention.run_retention(now=now, clock=lambda: 0.0).items() if count}


def ran(*, text: str = "hello\n", at: datetime = NOW, over: bool = True, **fields: Any) -> Task:
    """A task with a log and an output file, whose job has ended at this instant unless it goes on."""
    if not Task.objects.exists():
        a_worker("w1", gpus="8xA100", seen=AWAKE)
    job = a_job(at=at, **fields)
    a_pass(at)
    task = Task.objects.get(attempt__job=job)
    append_log(task_id=task.pk, offset=0, body=encode(Frame("stdout", 0, text.encode())), now=at)
    an_output(task, at=at)
    return ended(task, at) if over else task


def ended(task: Task, at: datetime) -> Task:
    DeviceHold.objects.filter(task=task).update(released_at=at)
    Task.objects.filter(pk=task.pk).update(state=TaskState.SUCCEEDED, finished_at=at, released_at=at)
    Attempt.objects.filter(pk=task.attempt_id).update(state=AttemptState.SUCCEEDED, active=False, ended_at=at)
    Job.objects.filter(attempts=task.attempt_id).update(state=JobState.SUCCEEDED, finished_at=at, state_since=at)
    return Task.objects.select_related("attempt__job").get(pk=task.pk)


def an_output(task: Task, *, at: datetime, data: bytes = b"result") -> OutputFile:
    row = OutputFile.objects.create(task=task, path="result.bin", size=len(data), created_at=at)
    append(storage(), Key(Kind.OUTPUTS, row.pk), data, offset=0, counted=lambda: 0, move=lambda *_: True)
    return changed(row, stored=len(data))


def stored(task: Task) -> int | None:
    return storage().size(log_key(task.pk))


class TestLogs:
    def test_go_when_they_are_old(self) -> None:
        old, young = ran(), ran(at=later(days=OLD - 1))
        assert run(later(days=OLD))["logs"] == 1
        old.refresh_from_db()
        assert (stored(old), old.log_deleted_at, b"".join(read_bytes(old))) == (None, later(days=OLD), b"")
        assert stored(young)

    def test_go_oldest_first_when_all_are_too_large(self, limits: dict[str, Keep]) -> None:
        limits["logs"] = Keep(0, 250)
        tasks = [ran(text="x" * 87, at=later(minutes=minute)) for minute in range(5)]
        assert run(later(minutes=10)) == {"logs": 3}
        assert [stored(task) for task in tasks] == [None, None, None, 100, 100]

    def test_of_jobs_that_are_not_over_stay(self, limits: dict[str, Keep]) -> None:
        limits["logs"] = Keep(1, 1)
        task = ran(over=False)
        first = ended(task, NOW)
        Job.objects.update(state=JobState.QUEUED, finished_at=None)
        assert run(later(days=OLD)) == {}
        assert stored(first)

    def test_of_tasks_that_still_hold_something_stay(self) -> None:
        task = ran()
        Task.objects.update(released_at=None)
        assert "logs" not in run(later(days=OLD))
        assert stored(task)

    def test_stay_for_ever_where_there_is_no_limit(self, limits: dict[str, Keep]) -> None:
        limits["logs"] = limits["outputs"] = Keep(0, 0)
        task = ran()
        run(later(days=10_000))
        assert stored(task)


class TestOutputsAndBundles:
    def test_outputs_go_when_they_are_old(self) -> None:
        file = OutputFile.objects.get(task=ran())
        assert run(later(days=31)) == {"outputs": 1}
        file.refresh_from_db()
        assert (file.deleted_at, storage().size(Key(Kind.OUTPUTS, file.pk))) == (later(days=31), None)

    def test_bundles_go_when_nobody_uses_them(self) -> None:
        used, unused, fresh = (
            a_bundle(digit, used_at=at) for digit, at in zip("abc", (NOW, NOW, later(days=20)), strict=True)
        )
        changed(ran(at=later(days=25)).attempt.job, bundle=used)
        assert run(later(days=32)) == {"bundles": 1}
        assert set(Bundle.objects.values_list("pk", flat=True)) == {used.pk, fresh.pk}
        assert [storage().size(Key(Kind.BUNDLES, row.pk)) for row in (used, unused)] == [1, None]

    def test_what_no_row_knows_is_swept_after_a_day(self) -> None:
        task = ran(over=False)
        with storage().writing(log_key(999_999)) as blob:
            blob.write(0, b"of a job that was deleted")
        now = datetime.now(NOW.tzinfo)
        assert run(now) == {}
        assert run(now + timedelta(days=2)) == {"strays": 1}
        assert (storage().size(log_key(999_999)), bool(stored(task))) == (None, True)

    def test_what_a_crash_left_of_a_removed_log_is_swept(self) -> None:
        task = ran()
        Task.objects.update(log_deleted_at=NOW)
        run(datetime.now(NOW.tzinfo) + timedelta(days=2))
        assert stored(task) is None


def a_bundle(digit: str, *, used_at: datetime) -> Bundle:
    row = Bundle.objects.create(
        owner=a_user(), sha256=digit * 64, size=1, stored=1, complete=True, created_at=NOW, used_at=used_at
    )
    with storage().writing(Key(Kind.BUNDLES, row.pk)) as blob:
        blob.write(0, b"x")
    return row


class TestDecisionsAndPasses:
    def test_the_first_and_the_latest_decision_stay_and_can_be_seen_again(self) -> None:
        a_worker("w1", gpus="1xA100", seen=AWAKE)
        waiting = [a_job() for _ in range(2)]
        a_pass()
        for minute in range(1, 5):  # the candidates change, so that each pass keeps a decision
            a_worker(f"t{minute}", gpus="1xT4", seen=AWAKE, facts={"python": f"3.{minute}.0"})
            a_pass(later(minutes=minute))
        job = waiting[1]
        before = list(Decision.objects.filter(job=job).order_by("pk").values_list("pk", flat=True))
        job.refresh_from_db()
        Job.objects.filter(pk=job.pk).update(state=JobState.CANCELLED, finished_at=later(minutes=9))
        run(later(days=OLD))
        after = list(Decision.objects.filter(job=job).order_by("pk").values_list("pk", flat=True))
        assert after == sorted({before[0], job.decision_id})
        kept = recorded(Job.objects.get(pk=job.pk))
        assert kept is not None
        assert kept.intact

    def test_decisions_of_jobs_that_are_not_over_stay(self) -> None:
        a_worker("w1", gpus="1xA100", seen=AWAKE)
        for _ in range(3):
            a_job()
        a_pass()
        before = Decision.objects.count()
        assert "decisions" not in run(later(days=OLD))
        assert Decision.objects.count() == before

    def test_passes_go_unless_a_decision_needs_them_or_those_after_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("scheduler.services.ledger.KEYFRAME_EVERY", 4)
        worker = a_worker("w1", gpus="1xA100", seen=AWAKE)
        a_job(gpus=64)
        for number in range(1, 13):  # something changes before each pass that matters to nobody: it writes a row
            new_facts(worker, worker_document("w1", python=f"3.{number}.0"))
            if number in (2, 7):
                job = a_job(gpus=64)
            a_pass(later(minutes=number))
            if number in (3, 8):
                cancel_job(job=job, actor="user:mira", now=later(minutes=number))
        before = passes()
        run(later(days=OLD))
        needed = {number for number in before if Decision.objects.filter(pass_row__number=number).exists()}
        newest = SchedulingPass.objects.filter(keyframe=True).order_by("-number")[0].number
        expected = [n for n in before if n >= newest or any(n <= m and (n - 1) // 4 == (m - 1) // 4 for m in needed)]
        assert passes() == expected
        assert len(expected) < len(before)
        assert [kept.intact for job in Job.objects.all() if (kept := recorded(job))] == [True] * 3


def passes() -> list[int]:
    """The numbers of those that there are."""
    return list(SchedulingPass.objects.order_by("number").values_list("number", flat=True))


class TestEvents:
    def test_go_when_they_are_old(self) -> None:
        sealed(at=NOW, subject="gone")
        sealed(at=later(days=100), subject="young")
        assert run(later(days=401)) == {"events": 1}
        assert left() == ["young"]

    def test_stay_as_long_as_the_audit_says_however_many_there_are(self, limits: dict[str, Keep]) -> None:
        limits["events"] = Keep(1, 2)
        for number in range(6):
            sealed(at=later(days=10 * number), subject=str(number))
        run(later(days=90 + 20))
        assert left() == ["2", "3", "4", "5"]

    def test_of_a_job_that_is_not_over_stay(self) -> None:
        task, done = ran(over=False), ran(at=later(minutes=1))
        sealed(at=later(days=1), subject="beside the live job")
        sealed(at=later(days=2), subject=str(task.pk), kind="task")
        sealed(at=later(days=3), subject=str(done.pk), kind="task")
        sealed(at=later(days=1_000), subject="young")
        run(later(days=1_000))
        assert left() == ["beside the live job", str(task.pk), "young"]
        assert check_trail().findings == []

    def test_are_removed_again_when_they_have_told_of_what_was(self) -> None:
        for day in (0, 500, 1_000, 1_500):
            sealed(at=later(days=day), subject=str(day))
            run(later(days=day, hours=1))
            assert check_trail().findings == []
        assert left() == ["1500"] or left() == ["1000", "1500"]


def left() -> list[str]:
    """The subjects of the events that there are, but for what tells of removals and of jobs."""
    there = Event.objects.filter(subject_kind__in=("label", "task"), verb="noted")
    return list(there.order_by("pk").values_list("subject", flat=True))


def sealed(*, at: datetime, subject: str, kind: str = "label") -> None:
    """An event that has been sealed together with whatever came before it."""
    an_event(at=at, subject=subject, kind=kind)
    seal_events(now=at + timedelta(minutes=10))


def an_event(*, at: datetime, subject: str, kind: str = "label") -> Event:
    return Event.objects.create(at=at, actor="test", subject_kind=kind, subject=subject, verb="noted")


class TestSecrets:
    def test_of_jobs_that_have_been_over_for_a_month_are_forgotten(self) -> None:
        old, young = ran().attempt.job, ran(at=later(days=5)).attempt.job
        Job.objects.update(secrets=b"sealed")
        assert run(later(days=31))["secrets"] == 1
        assert [bool(Job.objects.get(pk=job.pk).secrets) for job in (old, young)] == [False, True]


class TestARun:
    def test_is_noted(self) -> None:
        ran()
        run(later(days=OLD))
        row = Upkeep.objects.get()
        assert (row.began_at, row.finished_at, row.complete) == (later(days=OLD), later(days=OLD), True)
        assert (row.removed["logs"], row.removed["outputs"], row.swept_at) == (1, 1, later(days=OLD))

    def test_ends_in_time_and_the_next_one_goes_on(self) -> None:
        tasks = [ran(at=later(minutes=minute)) for minute in range(3)]
        ticks = iter([0.0, 10.0, 21.0])
        retention.run_retention(now=later(days=OLD), clock=lambda: next(ticks))
        assert [bool(stored(task)) for task in tasks] == [False, False, True]
        assert not Upkeep.objects.get().complete
        run(later(days=OLD))
        assert [bool(stored(task)) for task in tasks] == [False, False, False]

    def test_again_removes_nothing_more(self) -> None:
        ran()
        assert run(later(days=OLD))
        assert run(later(days=OLD)) == {}

    def test_doubled_in_the_middle_removes_everything_once(self) -> None:
        tasks = [ran(at=later(minutes=minute)) for minute in range(4)]
        one, other = (retention.STEPS["logs"](later(days=OLD)) for _ in range(2))
        assert [next(one), next(other), next(one), next(other)] == [1, 1, 0, 1]
        assert sum(one) + sum(other) == 1
        assert [stored(task) for task in tasks] == [None] * 4

    def test_works_in_small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(seals, "LONGEST", 10)
        for _ in range(25):
            an_event(at=NOW, subject="old")
        sealed(at=later(days=400), subject="young")
        counts = list(retention_rows.old_events(later(days=500)))
        assert counts == [10, 10]
