"""A database that somebody else holds: calls wait or are asked to come again, and no worker is taken for gone."""

import os
import threading
import time

import httpx
import pytest

from tests.faults.rig import Rig

pytestmark = pytest.mark.slow

HEARTBEAT = 2
"""Seconds; three of them without a call make a worker suspect."""


def test_f12_a_database_that_is_held_makes_calls_wait_or_come_again_and_loses_no_worker(tmp_path):
    if "DATABASE_URL" in os.environ:
        return  # what is held here is the one file of SQLite
    with Rig(tmp_path, GPULAYER_HEARTBEAT_SECONDS=str(HEARTBEAT), GPULAYER_LEASE_SECONDS="60") as rig:
        answers = []

        def ask():
            job = {"name": "f12", "target": "cloud", "command": ["true"]}
            answers.append(rig.people.post("jobs", json=job, timeout=60))

        before = rig.database.one("SELECT max(id) FROM workers_event")
        threads = [threading.Thread(target=ask) for _ in range(3)]
        with rig.database.held():
            for thread in threads:
                thread.start()
            assert rig.people.get("jobs", timeout=60).status_code == 200
            time.sleep(HEARTBEAT)  # the time for which it is held is the fault
        for thread in threads:
            thread.join()
        assert {answer.status_code for answer in answers} <= {201, 503}
        assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
        fallen = f"SELECT count(*) FROM workers_event WHERE id > {before} AND after IN ('suspect', 'lost')"
        assert rig.database.one(fallen) == 0
        for answer in answers:
            if answer.status_code == httpx.codes.CREATED:
                rig.cancel(answer.json()["job_id"])
        rig.settle()
        rig.check()
