"""The server's own watch: absences, steps of the wall clock, and many workers that fall silent together."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError

from gpulayer_site import doctor_watch
from scheduler.models import Attempt, Event, PassLease, Task, Watch
from scheduler.services import review as reviewing
from scheduler.services.passes import run_pass
from scheduler.services.watch import is_grace, look, read_clocks
from tests.api.gangs import Time
from tests.factories import NOW, a_job, a_pass, a_worker, changed, held
from workers.models import Liveness, Worker
from workers.moments import duration

pytestmark = pytest.mark.django_db


@pytest.fixture
def time():
    """A server that has been up for long, at `NOW`."""
    clock = Time(now=NOW - timedelta(seconds=70))
    clock.passes(70)
    assert clock.now == NOW
    return clock


def runs(job, *, until=None):
    """The job runs on the worker it was placed on, with a lease until then."""
    a_pass()
    attempt = Attempt.objects.get(job=job)
    changed(attempt, go_at=NOW, lease_seconds=1800 if until else None, leased_until=until)
    task = Task.objects.get(attempt=attempt)
    changed(task, state="running", claimed_at=NOW, started_at=NOW)
    return task


def liveness(*names):
    by_name = dict(Worker.objects.values_list("name", "liveness"))
    return [by_name[name] for name in names]


def all_call(time, *names):
    Worker.objects.filter(name__in=names).update(last_seen_at=time.now, liveness=Liveness.ONLINE)


def noted():
    return list(Event.objects.filter(verb="watch").order_by("pk").values_list("cause", flat=True))


def test_time_that_goes_on_is_nothing_to_note(time):
    time.passes(60)
    assert noted() == []
    assert not is_grace(time.now)


def test_the_real_clocks_of_this_machine_go_together():
    look()
    row = look()
    assert not noted()
    assert abs((row.wall_at - read_clocks().now).total_seconds()) < 10


def test_a_first_look_lets_everybody_call_first():
    time = Time(now=NOW)
    a_worker("a", seen=NOW - timedelta(days=3))
    time.look()
    assert is_grace(time.now)
    assert liveness("a") == ["online"]
    time.passes(65)
    assert liveness("a") == ["lost"]


@pytest.mark.parametrize("seconds", [7200, -7200, 86_400, 3], ids=["+2 h", "-2 h", "+1 day", "+3 s"])
def test_a_step_of_the_clock_moves_leases_along_and_blames_nobody(time, seconds):
    a_worker("a")
    a_worker("b")
    task = runs(a_job(), until=NOW + timedelta(seconds=1800))
    PassLease.objects.update(holder="dead", expires_at=NOW + timedelta(seconds=15))
    time.jumps(seconds)
    time.look()
    assert liveness("a", "b") == ["online", "online"]
    attempt = Attempt.objects.get()
    assert attempt.leased_until - time.now == timedelta(seconds=1800)
    assert PassLease.objects.get().expires_at - time.now == timedelta(seconds=15)
    task.refresh_from_db()
    assert (task.state, held()) == ("running", 1)
    assert time.now - task.started_at < timedelta(seconds=1)
    assert [f"by {duration(abs(seconds))}" in cause for cause in noted()] == [True]
    assert Watch.objects.get().note == noted()[0]


def test_after_a_step_leases_last_as_long_as_they_would_have(time):
    a_worker("a")
    task = runs(a_job(retries={"max": 1}), until=NOW + timedelta(seconds=600))
    time.passes(10)
    time.jumps(7200)
    time.passes(610)
    task.refresh_from_db()
    assert task.state == "unknown"
    time.passes(20)
    task.refresh_from_db()
    assert (task.state, task.released_at is not None) == ("lost", True)


def test_an_absence_gives_everybody_the_time_to_call(time):
    for name in "ab":
        a_worker(name)
    task = runs(a_job(retries={"max": 1}), until=NOW + timedelta(seconds=1800))
    time.sleeps(3600)
    time.look()
    assert liveness("a", "b") == ["online", "online"]
    assert ["away for 1 h" in cause for cause in noted()] == [True]
    time.passes(50)
    assert held() == 1
    all_call(time, "a")
    time.passes(15)
    assert liveness("b") == ["lost"]
    task.refresh_from_db()
    assert task.state == "lost", "its lease was over long ago, and its host has not called since"


def test_a_restart_of_the_machine_counts_as_an_absence_only_if_it_took_long(time):
    time.boot_id, time.boottime_ms = "another", 5
    time.now += timedelta(seconds=5)
    time.look()
    assert noted() == []
    time.boot_id, time.boottime_ms = "a third", 5
    time.now += timedelta(seconds=90)
    time.look()
    assert ["away for 1 min 30 s" in cause for cause in noted()] == [True]


def test_looks_from_two_machines_are_no_steps(time):
    for _ in range(5):
        time.now += timedelta(seconds=2)
        time.boot_id, time.boottime_ms = "second", 77
        time.look()
        time.boot_id, time.boottime_ms = "first", 999_999_999
        time.look()
    assert noted() == []


def test_a_look_that_comes_late_changes_nothing(time):
    early = time.clocks()
    time.passes(5)
    before = Watch.objects.get().wall_at
    look(lambda: early)
    assert Watch.objects.get().wall_at == before
    assert noted() == []


def test_one_silent_worker_is_suspect_and_then_lost(time):
    for name in "abcd":
        a_worker(name)
    for _ in range(80):
        time.passes(5)
        all_call(time, "b", "c", "d")
    assert liveness("a", "b", "c", "d") == ["lost", "online", "online", "online"]
    assert noted() == []


def test_half_of_three_or_more_together_are_rather_the_servers_own_fault(time):
    for name in "abcd":
        a_worker(name)
    tasks = [runs(a_job(retries={"max": 1}), until=NOW + timedelta(seconds=100))]
    for _ in range(9):
        time.passes(5)
        all_call(time, "c", "d")
    assert liveness("a", "b") == ["suspect", "suspect"]
    assert ["2 of 4 workers fell silent together" in cause for cause in noted()] == [True]
    assert is_grace(time.now)
    assert tasks[0].worker.name == "a"
    tasks[0].refresh_from_db()
    assert tasks[0].state == "unknown"


@pytest.mark.parametrize(("workers", "grace"), [("ab", False), ("abc", True)])
def test_of_two_workers_it_says_nothing(time, workers, grace):
    for name in workers:
        a_worker(name)
    time.passes(45)
    assert liveness(*workers) == ["suspect"] * len(workers)
    assert bool(noted()) is grace


def test_a_pass_calls_silent_workers_suspect_without_any_watch():
    a_worker("a", seen=NOW - timedelta(minutes=5))
    a_job()
    run_pass(now=NOW, holder="test")
    assert liveness("a") == ["suspect"]


def test_a_pass_blames_nobody_while_the_server_was_away(time):
    a_worker("a")
    time.sleeps(3600)
    time.look()
    a_job()
    run_pass(now=time.now, holder="test")
    assert liveness("a") == ["online"]
    assert held() == 0, "it is given no work before it is heard of"


def test_a_draining_worker_without_tasks_is_drained(time):
    a_worker("a", intent="draining", intent_note="kernel update")
    a_worker("b")
    runs(a_job())
    busy = Task.objects.get().worker
    changed(busy, intent="draining")
    time.look()
    assert list(Worker.objects.order_by("name").values_list("intent", "intent_note")) == [
        ("drained", "kernel update"), ("draining", ""),
    ]  # fmt: skip


def test_a_step_that_the_database_refuses_has_its_turn_next_time(time, monkeypatch):
    a_worker("a")

    def busy(now):
        raise OperationalError("database is locked")

    monkeypatch.setattr(reviewing, "ALWAYS", (busy, *reviewing.ALWAYS))
    time.passes(45)
    assert liveness("a") == ["suspect"]


@pytest.mark.parametrize(
    ("fields", "verdict", "text"),
    [
        pytest.param(None, "note", "clocks and leases were not looked at yet", id="not yet"),
        pytest.param({}, "ok", "clocks and leases were looked at 3 s ago", id="well"),
        pytest.param({"wall_at": 300}, "wrong", "clocks and leases were looked at 5 min ago", id="it does not run"),
        pytest.param(
            {"noted_at": 7200, "note": "the server was away for 1 min 30 s"}, "note",
            "clocks and leases were looked at 3 s ago; 2 h ago the server was away for 1 min 30 s", id="it was away",
        ),
        pytest.param(
            {"noted_at": 200_000, "note": "the server was away for 1 min 30 s"}, "ok",
            "clocks and leases were looked at 3 s ago", id="long ago",
        ),
    ],
)  # fmt: skip
def test_the_doctor_tells_of_the_watch(fields, verdict, text):
    row = None
    if fields is not None:
        row = Watch(wall_at=NOW - timedelta(seconds=3), boottime_ms=1, up_since=NOW)
        for name, value in fields.items():
            setattr(row, name, value if name == "note" else NOW - timedelta(seconds=value))
    assert doctor_watch.verdict_on(row, NOW)[:2] == (verdict, text)
