"""The rig itself: without any fault all invariants hold, and each check sees what it is there to see."""

import pytest

from tests.faults.rig import Rig

pytestmark = pytest.mark.slow


def test_without_faults_every_job_runs_once_on_a_device_of_its_own(tmp_path):
    with Rig(tmp_path) as rig:
        jobs = [rig.submit("lines:10", "sleep:0.3") for _ in range(6)]
        assert {job["state"] for job in rig.over(*jobs)} == {"succeeded"}
        rig.settle()
        rig.check(jobs)
        assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)
        assert {len(life.devices) for life in rig.ledger.lives()} == {1}
