"""A backup made while everything runs, and restored while agents run attempts that it has never heard of."""

import pytest

from tests.faults.rig import Rig

pytestmark = pytest.mark.slow


def test_f43_an_older_database_reuses_no_fence_and_no_device_before_its_agents_have_spoken(tmp_path):
    with Rig(tmp_path) as rig:
        known = rig.submit("sleep:600", gpus=2, name="known")
        rig.running(known)
        backup = tmp_path / "backup.tar.gz"
        made = rig.up.run("backup", str(backup))
        assert made.returncode == 0, made.stderr
        unknown = rig.submit("sleep:600", gpus=2, name="unknown")
        rig.running(unknown)
        other = rig.agent_of(unknown)
        lost = rig.task(unknown)
        rig.stop_server()
        done = rig.up.run("restore", str(backup), "--replace")
        assert done.returncode == 0, done.stderr
        assert "2 workers wait" in done.stdout
        other.proxy.set(cut=True)
        rig.start_server()
        jobs = [rig.submit("lines:1", gpus=2, name="new")]
        held = f"SELECT health || ' ' || liveness FROM workers_worker WHERE name = '{other.name}'"
        assert rig.database.one(held).startswith("unhealthy")
        other.proxy.clear()
        jobs.append(rig.submit("lines:1", gpus=2, name="new"))
        rig.over(*jobs)
        assert {rig.task(job)["state"] for job in jobs} == {"succeeded"}
        new = [rig.task(job) for job in jobs]
        assert min(task["fence"] for task in new) > lost["fence"] + 900_000
        assert min(task["id"] for task in new) > lost["id"] + 900_000
        assert not rig.database.rows(f"SELECT 1 FROM scheduler_job WHERE job_id = '{unknown}'")
        assert [life.ended is not None for life in rig.ledger.of(unknown)] == [True]
        assert len(rig.ledger.of(known)) == 1
        assert rig.job(known)["state"] == "running"
        rig.cancel(known)
        rig.settle()
        rig.check([known, *jobs])
