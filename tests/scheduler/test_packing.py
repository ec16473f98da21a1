"""Compressed columns: the same value again, in a fraction of the room, also for rows of earlier versions."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from scheduler.models import Decision
from scheduler.packing import SAID_OFTEN, packed, unpacked
from tests.factories import a_job, a_pass, a_worker, later, latest


@pytest.mark.parametrize("known", [b"", SAID_OFTEN], ids=["alone", "with what is said often"])
@pytest.mark.parametrize("value", [None, 0, "", "é\u2028\U0001f600", [], {}, {"a": [1, None, {"b": 1.5}]}, "x" * 10**5])
def test_any_json_comes_back(value, known):
    assert unpacked(packed(value, known=known), known=known) == value
    assert unpacked(memoryview(packed(value, known=known)), known=known) == value


def test_what_is_said_often_never_changes():
    """Rows of earlier versions could not be read without it."""
    written = bytes.fromhex("78bbbe628d3dc35d5620727f2c96cc5f0b00299d1341")
    assert unpacked(written, known=SAID_OFTEN) == {"answer": {"lead": "Waiting", "more": [], "state": "waiting"}}


@pytest.mark.django_db
def test_a_summary_takes_a_few_hundred_bytes():
    for number in range(20):
        a_worker(f"w{number}", gpus="2xT4")
    job = a_job(gpus=2, resources={"gpu_memory_gb": 40})
    a_pass()
    summary = latest(job).summary
    assert summary["answer"]["state"] == "never"
    assert len(packed(summary, known=SAID_OFTEN)) < 400


@pytest.mark.django_db(transaction=True)
def test_summaries_of_earlier_versions_are_carried_over_and_back():
    a_worker("a", seen=later(hours=1))
    jobs = [a_job(), a_job()]
    a_pass()
    before = {job.pk: latest(job).summary for job in jobs}
    try:
        migrated("0001_initial")
        with connection.cursor() as cursor:
            cursor.execute("SELECT CAST(summary AS text) FROM scheduler_decision")
            assert all("short_answer" in text for (text,) in cursor.fetchall())
    finally:
        migrated("0002_packed_summaries")
    assert {row.job_id: row.summary for row in Decision.objects.all()} == before


def migrated(name):
    executor = MigrationExecutor(connection)
    executor.migrate([("scheduler", name)])
