"""Agents, shims and jobs are killed, frozen and left behind; each task starts at most once and ends as it should."""

import random
import signal
import time

import pytest

from tests.faults.ledger import is_alive
from tests.faults.rig import SCALED

pytestmark = pytest.mark.slow

AGAIN = {"retries": {"max": 1, "on": ["lost"]}}
"""Such a job has a lease: it may be run elsewhere when its host is lost."""
LEASE = float(SCALED["GPULAYER_LEASE_SECONDS"])


def whole(number):
    return pytest.param(number, marks=pytest.mark.soak)


def test_f13_the_agent_is_killed_ten_times_and_the_task_does_not_notice(rig):
    job = rig.submit("lines:50", "sleep:6", "lines:50", "exit:7")
    rig.running(job)
    agent = rig.agent_of(job)
    for _ in range(10):
        agent.kill()
        agent.start()
    (ended,) = rig.over(job)
    (life,) = rig.ledger.of(job)
    assert ended["exit_code"] == 7
    assert rig.task(job)["pid"] == life.pid
    assert rig.log(job).splitlines() == [f"line {n}" for n in range(50)] * 2


@pytest.mark.parametrize("kills", [4, whole(40)])
def test_f14_killed_between_intent_and_exec_or_before_it_could_say_started(rig, kills):
    chance = random.Random(rig.seed)
    for _ in range(kills):
        job = rig.submit("sleep:0.3", gpus=2)
        rig.until(lambda job=job: rig.job(job)["state"] != "queued", "it is placed")
        time.sleep(chance.uniform(0, 0.3))  # the fault itself comes at a random instant
        rig.agent_of(job).restart()
        (ended,) = rig.over(job)
        assert len(rig.ledger.of(job)) <= 1
        assert ended["state"] == "succeeded" or ended["failure_code"] in ("agent_ended", "shim_ended"), ended


def test_f15_without_agent_and_shim_the_process_is_found_and_ended_before_its_device_is_free(rig):
    job = rig.submit("deaf", "sleep:60")
    rig.running(job)
    agent, (life,) = rig.agent_of(job), rig.ledger.of(job)
    agent.kill()
    for shim in agent.shims():
        shim.kill()
    assert rig.task(job)["released_at"] is None
    agent.start()
    (ended,) = rig.over(job)
    assert ended["failure_code"] in ("shim_ended", "agent_ended")
    rig.until(lambda: rig.task(job)["released_at"], "it is released")
    assert not is_alive(life.pid)


def test_f16_an_agent_that_never_comes_back_has_its_rerunnable_task_ended_by_the_shim(rig):
    job = rig.submit("sleep:30", **AGAIN)
    rig.running(job)
    agent = rig.agent_of(job)
    agent.kill()
    rig.running(job, times=2)
    rig.cancel(job)
    rig.over(job)
    first, second = rig.ledger.of(job)
    assert first.ended < second.began
    assert second.began - first.ended > 0.5e9, "the server waits a margin beyond the lease"
    agent.start()


def test_f20_frozen_past_its_lease_it_is_ended_as_soon_as_it_wakes(rig):
    job = rig.submit("sleep:30", **AGAIN)
    rig.running(job)
    agent = rig.agent_of(job)
    asleep = [agent.process, *agent.shims()]
    for each in asleep:
        each.send_signal(signal.SIGSTOP)
    rig.running(job, times=2)
    woken = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for each in asleep:
        each.send_signal(signal.SIGCONT)
    rig.until(lambda: rig.ledger.of(job)[0].ended, "the first is ended", 10)
    first, _ = rig.ledger.of(job)
    assert first.ended - woken < 2.5e9
    rig.cancel(job)
    assert rig.over(job)[0]["state"] == "cancelled"


def test_f36_daemons_that_a_job_leaves_are_gone_when_its_device_is_free(rig):
    job = rig.submit("daemon:60", "daemon:60")
    assert rig.over(job)[0]["state"] == "succeeded"


def test_f37_a_job_that_is_deaf_to_sigterm_is_killed_after_its_grace(rig):
    job = rig.submit("deaf", "sleep:60")
    rig.running(job)
    rig.cancel(job)
    assert rig.over(job, seconds=30)[0]["state"] == "cancelled"
    (life,) = rig.ledger.of(job)
    assert 8e9 < life.ended - life.began < 15e9


def test_f34_a_job_that_kills_what_runs_it_is_held_after_two_workers(rig):
    job = rig.submit("kill-parents", "sleep:60", retries={"max": 9, "on": ["lost", "failed"]})
    rig.until(lambda: rig.revive() or rig.job(job)["state"] == "paused", "it is paused", 90)
    rig.until(lambda: rig.revive() or rig.online() == len(rig.agents), "every agent is there again")
    assert len(rig.ledger.of(job)) <= 2
    assert (
        rig.database.rows(f"SELECT paused_code FROM scheduler_job WHERE job_id = '{job}'")[0]["paused_code"] == "poison"
    )
    rig.cancel(job)


def test_f44_two_servers_or_one_that_is_wrong_cannot_run_two_tasks_on_one_device(rig):
    twin = rig.add("twin", 0)
    twin.devices = list(rig.agents[0].devices)
    twin.start()
    rig.until(lambda: rig.online() == len(rig.agents) + 1, "the twin registers")
    first = rig.submit("sleep:5", gpus=2, placement={"worker_ids": [rig.agents[0].name]})
    rig.running(first)
    second = rig.submit("sleep:0.1", gpus=2, placement={"worker_ids": ["twin"]})
    said = "SELECT count(*) FROM workers_event WHERE cause LIKE '%device_busy%' OR after LIKE '%device_busy%'"
    rig.until(lambda: rig.database.one(said) or "device_busy" in twin.log(), "the second is refused")
    assert not rig.ledger.of(second)
    rig.over(first)
    if rig.job(second)["state"] == "paused":
        rig.people.post(f"jobs/{second}/resume")
    assert rig.over(second)[0]["state"] == "succeeded"
    rig.until(lambda: rig.task(second)["released_at"], "the twin has told that its device is free")
    twin.kill()
