"""PostgreSQL crashes under load: what the server has acknowledged is there, once, and runs once."""

import random
import threading

import pytest

from tests import postgres
from tests.faults.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@pytest.fixture
def cluster(tmp_path):
    if why := postgres.why_not():
        pytest.skip(why)
    cluster = postgres.Cluster(tmp_path, durable=True)
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.mark.parametrize("crashes", [2, pytest.param(5, marks=pytest.mark.soak)])
def test_f10_nothing_acknowledged_is_lost_though_the_database_crashes_again_and_again(tmp_path, cluster, crashes):
    folder = tmp_path / "rig"
    folder.mkdir()
    with Rig(folder, DATABASE_URL=cluster.url) as rig:
        chance, crashed = random.Random(rig.seed), threading.Event()

        def crash():
            for _ in range(crashes):
                crashed.wait(chance.uniform(1, 3))
                cluster.stop()
                cluster.start()
            crashed.set()

        thread = threading.Thread(target=crash)
        thread.start()
        jobs = []
        while not crashed.is_set() or len(jobs) < 5 * crashes:
            if len(jobs) < 15 * crashes:
                jobs.append(rig.submit("lines:5", "sleep:0.1", key=f"f10-{len(jobs)}"))
            rig.job(jobs[-1])
        thread.join()
        assert len(set(jobs)) == len(jobs)
        assert {job["state"] for job in rig.over(*jobs, seconds=120)} == {"succeeded"}
        assert rig.database.one("SELECT count(*) FROM scheduler_job WHERE idempotency_key LIKE 'f10-%'") == len(jobs)
        assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)
        rig.settle()
        rig.check(jobs)
