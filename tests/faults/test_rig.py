"""The rig itself: without any fault all invariants hold, and each check sees what it is there to see."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from tests.faults.database import Database
from tests.faults.invariants import violations
from tests.faults.ledger import Ledger
from tests.faults.rig import Rig

TABLES = """
CREATE TABLE scheduler_job (id, job_id, state, paused_text DEFAULT '', idempotency_key);
CREATE TABLE scheduler_attempt (id, job_id, number, fence, active, state);
CREATE TABLE scheduler_task (id, attempt_id, state, finished_at, released_at);
CREATE TABLE scheduler_devicehold (id, device_id, task_id, released_at);
CREATE TABLE workers_event (id INTEGER PRIMARY KEY, subject_kind, subject, before, after, actor, verb DEFAULT 'state');
INSERT INTO scheduler_job (id, job_id, state, idempotency_key) VALUES (1, 'j-1', 'succeeded', 'k1');
INSERT INTO scheduler_attempt VALUES (10, 1, 1, 7, 0, 'revoked'), (11, 1, 2, 8, 0, 'succeeded');
INSERT INTO scheduler_task VALUES (100, 10, 'revoked', 1, 1), (101, 11, 'succeeded', 2, 2);
INSERT INTO scheduler_devicehold VALUES (1, 5, 100, 1), (2, 5, 101, 2);
INSERT INTO workers_event (subject_kind, subject, before, after) VALUES
    ('job', 'j-1', 'queued', 'running'), ('job', 'j-1', 'running', 'succeeded');
"""
"""A job that was taken back once and then succeeded: only what the checks read."""
LIVE_JOB = "INSERT INTO scheduler_job (id, job_id, state, idempotency_key) VALUES (2, 'j-2', 'running', 'k2')"
BROKEN = {
    "I2: a device is held twice: 5": "UPDATE scheduler_devicehold SET released_at = NULL",
    "I2: a hold is open though its task was released: 2": (
        "UPDATE scheduler_devicehold SET released_at = NULL WHERE id = 2"
    ),
    "I3: a job has two live attempts: 1": "UPDATE scheduler_attempt SET active = 1",
    "I5: j-1 was acknowledged and is gone": "DELETE FROM scheduler_job",
    "I5: j-1 is queued": "UPDATE scheduler_job SET state = 'queued'",
    "I5: j-1 is paused": "UPDATE scheduler_job SET state = 'paused'",
    "I5: two jobs of one key: k1": f"{LIVE_JOB}; UPDATE scheduler_job SET idempotency_key = 'k1'",
    "I6: job j-1 left its end succeeded": (
        "INSERT INTO workers_event (subject_kind, subject, before, after) VALUES ('job', 'j-1', 'succeeded', 'queued')"
    ),
    "I7: a job is over while an attempt is not: j-1": "UPDATE scheduler_attempt SET active = 1 WHERE id = 11",
    "I7: a job that is assigned or running has no attempt: j-2": LIVE_JOB,
    "I7: a job succeeded though a task of its last attempt did not: j-1": (
        "UPDATE scheduler_task SET state = 'failed' WHERE id = 101"
    ),
    "I7: an attempt is over while a task of it is not: 10": (
        "UPDATE scheduler_task SET finished_at = NULL WHERE id = 100"
    ),
    "I8: a later attempt has a smaller fence: 1": "UPDATE scheduler_attempt SET fence = 6 WHERE id = 11",
    "I11: job j-1 went to running, then on from queued": (
        "UPDATE workers_event SET before = 'queued' WHERE after = 'succeeded'"
    ),
    "I11: job j-1 is failed, its last event says succeeded": "UPDATE scheduler_job SET state = 'failed'",
}


@pytest.mark.slow
def test_without_faults_every_job_runs_once_on_a_device_of_its_own(tmp_path):
    with Rig(tmp_path) as rig:
        jobs = [rig.submit("lines:10", "sleep:0.3") for _ in range(6)]
        assert {job["state"] for job in rig.over(*jobs)} == {"succeeded"}
        rig.settle()
        rig.check(jobs)
        assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)
        assert {len(life.devices) for life in rig.ledger.lives()} == {1}


@pytest.fixture
def said(tmp_path):
    """What the checks say of a database after these changes."""

    def say(changes=""):
        with closing(sqlite3.connect(tmp_path / "gpulayer.sqlite3")) as connection:
            connection.executescript(TABLES + changes)
        return violations(Database(tmp_path, None), ["j-1"], folder=tmp_path)

    return say


def test_of_a_database_that_is_as_it_should_be_nothing_is_said(said):
    assert said() == []


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line.replace(" ", "-"))
def test_what_must_never_be_in_the_database_is_seen(said, line):
    assert line in said(BROKEN[line])


def test_a_paused_job_that_says_why_has_not_been_lost(said):
    told = said("UPDATE scheduler_job SET state = 'paused', paused_text = 'its agent died twice'")
    assert not [line for line in told if line.startswith("I5")]


def test_a_process_that_outlives_its_release_is_seen(said, tmp_path):
    words = [sys.executable, "-c", "print(flush=True); input()", str(tmp_path)]
    tag = {"GPULAYER_TASK": "j-1.101.8.0123"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | tag) as process:
        process.stdout.readline()
        assert said() == [f"I10: fence 8 was released and process {process.pid} carries its tag"]
    assert violations(Database(tmp_path, None), ["j-1"], folder=tmp_path) == []


def test_the_ledger_sees_two_lives_on_a_device_and_a_second_start(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        ledger = Ledger(tmp_path / "ledger")
        try:
            lines = (
                f"j-1,1,7,GPU-a+GPU-b,START,{time.clock_gettime_ns(time.CLOCK_BOOTTIME)},{first.pid}",
                f"j-2,2,8,GPU-b,START,{time.clock_gettime_ns(time.CLOCK_BOOTTIME)},{second.pid}",
            )
            ledger.path.write_text("".join(f"{line}\n" for line in lines[:1]))
            assert ledger.faults() == []
            ledger.path.write_text("".join(f"{line}\n" for line in lines))
            assert ledger.faults() == ["I1: j-2 began on GPU-b while j-1 was alive"]
            ledger.path.write_text(lines[0] + "\n" + lines[1].replace("j-2,2,8,GPU-b", "j-1,1,7,GPU-c") + "\n")
            assert ledger.faults() == ["I4: task 1 with fence 7 started 2 times"]
        finally:
            first.kill()
            second.kill()
            ledger.close()


def test_the_ledger_takes_a_process_that_was_killed_for_ended(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with subprocess.Popen(["sleep", "60"]) as process:
        ledger.path.write_text(f"j-1,1,7,GPU-a,START,1,{process.pid}\n")
        assert ledger.lives()[0].ended is None
        process.kill()
    deadline = time.monotonic() + 10
    while (life := ledger.lives()[0]).ended is None and time.monotonic() < deadline:
        pass
    ledger.close()
    assert life.ended is not None
    later = f"j-2,2,8,GPU-a,START,{life.ended + 1},{os.getpid()}\n"
    ledger.path.write_text(ledger.path.read_text() + later)
    assert ledger.faults() == []
