"""The server's parts are killed, stopped and doubled; what was acknowledged is there, once, and runs once."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.slow

WEB, WORKER, BROKER = ("granian",), ("celery", "worker"), ("valkey",)


def kill_web(rig):
    """As soon as it answers again: one that never comes to life tries nothing."""
    if rig.up.answers(1):
        rig.kill_part(*WEB)


def whole(number):
    return pytest.param(number, marks=pytest.mark.soak)


@contextmanager
def now_and_then(act, *, seed, least=0.2, most=1.0):
    """`act` again and again at random instants while the block runs; how often is in the list it gives."""
    chance, over, done = random.Random(seed), threading.Event(), []

    def again():
        while not over.wait(chance.uniform(least, most)):
            act()
            done.append(time.monotonic())

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("submits", [30, whole(200)])
def test_f1_each_acknowledged_submit_exists_once_though_the_web_server_is_killed(rig, submits):
    # For the cloud, where nobody is: they only wait.
    with now_and_then(lambda: kill_web(rig), seed=rig.seed, least=1.0, most=3.0) as kills:
        jobs = [rig.submit(key=f"f1-{submits}-{n}", gpus=0, target="cloud") for n in range(submits)]
        rig.until(lambda: kills, "it is killed at least once")
    assert len(set(jobs)) == submits
    mine = f"SELECT count(*) FROM scheduler_job WHERE idempotency_key LIKE 'f1-{submits}-%'"
    assert rig.database.one(mine) == submits
    for job in jobs:
        rig.until(lambda job=job: rig.job(job)["state"] == "cancelled" or rig.cancel(job), f"{job} is cancelled")


@pytest.mark.parametrize("kills", [3, whole(50)])
def test_f3_f4_passes_and_beat_are_killed_in_the_middle_and_the_next_one_completes(rig, kills):
    jobs = []
    chance = random.Random(rig.seed)
    for _ in range(kills):
        jobs += [rig.submit("sleep:0.1") for _ in range(4)]
        time.sleep(chance.uniform(0, 0.3))  # the fault itself comes at a random instant
        rig.kill_part(*WORKER)
    assert {job["state"] for job in rig.over(*jobs, seconds=90)} == {"succeeded"}
    assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)


def celery(rig, *words):
    """A further process of Celery's, as the installation's own."""
    return subprocess.Popen(
        [sys.executable, "-m", "celery", "-q", "-A", "gpulayer_site.up.celery", *words],
        cwd=rig.folder, env=server_environment(rig), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def server_environment(rig):
    return rig.parts(*WORKER)[0].environ()


def test_f5_f6_two_more_beats_and_two_more_schedulers_change_nothing(rig):
    more = [celery(rig, "beat", "-s", str(rig.folder / f"beat-{n}"), "--pidfile=") for n in range(2)]
    more += [celery(rig, "worker", "-P", "threads", "-c", "2", "-n", f"more{n}@%h") for n in range(2)]
    try:
        jobs = [rig.submit("sleep:0.1") for _ in range(12)]
        assert {job["state"] for job in rig.over(*jobs)} == {"succeeded"}
    finally:
        for each in more:
            each.kill()
            each.wait()
    assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)
    assert rig.database.one("SELECT count(*) - count(DISTINCT number) FROM scheduler_schedulingpass") == 0


def test_f7_a_scheduler_that_slept_through_its_lease_does_no_harm(rig):
    (asleep,) = rig.parts(*WORKER)[:1]
    asleep.send_signal(signal.SIGSTOP)
    other = celery(rig, "worker", "-B", "-s", str(rig.folder / "beat-f7"), "-P", "threads", "-c", "1", "-n", "f7@%h")
    try:
        jobs = [rig.submit("sleep:0.1") for _ in range(4)]
        assert {job["state"] for job in rig.over(*jobs, seconds=90)} == {"succeeded"}
        asleep.send_signal(signal.SIGCONT)
        later = rig.submit("sleep:0.1")
        assert rig.over(later)[0]["state"] == "succeeded"
    finally:
        asleep.send_signal(signal.SIGCONT)
        other.kill()
        other.wait()


@pytest.mark.parametrize("fault", ["killed", "emptied", "frozen"])
def test_f8_jobs_are_taken_and_placed_though_the_broker_is(rig, fault):
    if fault == "killed":
        rig.kill_part(*BROKER)
    elif fault == "emptied":
        flush = "from gpulayer_site.up.celery import app; app.connection().channel().client.flushall()"
        subprocess.run([sys.executable, "-c", flush], env=server_environment(rig), cwd=rig.folder, check=True)
    else:
        for each in rig.parts(*BROKER):
            each.send_signal(signal.SIGSTOP)
    jobs = [rig.submit("sleep:0.1") for _ in range(2)]
    if fault == "frozen":
        assert rig.people.get("jobs").status_code == 200
        for each in rig.parts(*BROKER):
            each.send_signal(signal.SIGCONT)
    assert {job["state"] for job in rig.over(*jobs, seconds=90)} == {"succeeded"}


def test_f9_every_message_three_times_more_changes_nothing(rig):
    words = "from gpulayer_site.up.celery import app\n"
    words += "names = {each['task'] for each in app.conf.beat_schedule.values()}\n"
    words += "[app.send_task(name) for name in names for _ in range(3) for _ in range(5)]"
    jobs = [rig.submit("sleep:0.1") for _ in range(4)]
    subprocess.run([sys.executable, "-c", words], env=server_environment(rig), cwd=rig.folder, check=True)
    assert {job["state"] for job in rig.over(*jobs)} == {"succeeded"}
    assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)


@pytest.mark.parametrize("kills", [4, whole(20)])
def test_f11_the_database_is_whole_after_its_writers_were_killed(rig, kills):
    chance, jobs = random.Random(rig.seed + 1), []
    with now_and_then(
        lambda: kill_web(rig) if chance.random() < 0.5 else rig.kill_part(*WORKER), seed=rig.seed
    ) as done:
        while len(done) < kills:
            jobs += [rig.submit("sleep:0.05") for _ in range(2)]
            many = len(done)
            rig.until(lambda many=many: len(done) > many, "one more of them is killed")
    assert {job["state"] for job in rig.over(*jobs, seconds=120)} == {"succeeded"}
    if "DATABASE_URL" not in os.environ:
        assert rig.database.one("PRAGMA integrity_check") == "ok"
