"""What is stored is counted of the real thing, and a decision that came back otherwise would be noticed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.replay import Replay
from benchmarks.sizes import column_sizes, table_sizes
from benchmarks.witness import Witness
from scheduler.models import Decision, Job, JobState
from tests.factories import job_document, worker_document


def storing(*words):
    """The benchmark in a process of its own, as `make bench` runs it."""
    command = [sys.executable, "-m", "benchmarks.storing", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


def test_a_small_fleet_is_kept_busy_and_its_decisions_come_back():
    done = storing("--workers", "6", "--waiting", "8", "--starts", "20", "--lasting", "2")
    assert done.returncode == 0, done.stderr
    same, of, kept = done.stdout.split()[-3:]
    assert (same, of) == (kept, "of")
    assert int(kept) > 0
    assert "all of these for each decision kept" in done.stdout


def test_a_database_in_use_is_left_alone(tmp_path):
    import sqlite3

    path = tmp_path / "theirs.sqlite3"
    with sqlite3.connect(path) as theirs:
        theirs.execute("create table dear (thing)")
    theirs.close()
    done = storing("--database", f"sqlite:///{path}", "--workers", "6")
    assert done.returncode == 2
    assert "name an empty one" in done.stderr


@pytest.fixture
def replay(db):
    fleet = [worker_document(f"w{number}", gpus="2xA100") for number in range(3)]
    return Replay(fleet, [{"spec": job_document(gpus=1)}], waiting=4, seed=1)


def test_a_fleet_is_filled_until_as_many_wait_as_shall(replay):
    replay.fill()
    assert replay.running == 6
    assert Job.objects.filter(state=JobState.QUEUED).count() == 4
    replay.turn_over(finishing=2)
    replay.wait()
    replay.decide()
    assert (replay.starts, replay.finishes, replay.running) == (2, 2, 6)


def test_a_witness_notices_what_is_not_as_it_was_decided(replay):
    replay.submit(8)
    witness = Witness(seed=1)
    looked = witness.look(replay.now, count=4)
    witness.remember(replay.decide(), looked)
    assert witness.verdict() == (4, 4)
    Decision.objects.filter(position=0).update(digest="0" * 64)
    Decision.objects.filter(position__gt=0).update(holders=["user:somebody"])
    assert witness.verdict()[0] < 4


def test_sizes_are_those_of_the_tables(replay):
    replay.submit(8)
    replay.decide()
    sizes = table_sizes()
    assert sizes["scheduler_decision"] >= 8 * column_sizes("scheduler_decision", ["summary"])["summary"] > 0
