"""What lies between agents and server loses, doubles and delays; nothing starts twice, nothing is forgotten."""

import json
import time

import httpx
import pytest

from tests.faults.rig import SCALED

pytestmark = pytest.mark.slow

AGAIN = {"retries": {"max": 1, "on": ["lost"]}}
LEASE = float(SCALED["GPULAYER_LEASE_SECONDS"])


def whole(number):
    return pytest.param(number, marks=pytest.mark.soak)


def moves(rig, job):
    """The states that the first task of a job has had."""
    first = rig.database.one(
        "SELECT min(t.id) FROM scheduler_task t JOIN scheduler_attempt a ON a.id = t.attempt_id"
        f" JOIN scheduler_job j ON j.id = a.job_id WHERE j.job_id = '{job}'"
    )
    said = f"SELECT after FROM workers_event WHERE subject_kind = 'task' AND subject = '{first}' ORDER BY id"
    return [row["after"] for row in rig.database.rows(said)]


def test_f17_a_short_partition_restarts_nothing(rig):
    job = rig.submit("sleep:7", "exit:5", **AGAIN)
    rig.running(job)
    proxy = rig.agent_of(job).proxy
    proxy.set(cut=True)
    rig.until(lambda: rig.task(job)["state"] == "unknown", "contact is lost")
    proxy.clear()
    (ended,) = rig.over(job)
    assert ended["exit_code"] == 5
    assert len(rig.ledger.of(job)) == 1
    assert moves(rig, job)[-4:] == ["running", "unknown", "running", "failed"]


def test_f18_split_brain_the_old_process_has_ended_before_the_new_one_begins(rig):
    job = rig.submit("sleep:12", "exit:3", **AGAIN)
    rig.running(job)
    agent = rig.agent_of(job)
    agent.proxy.set(cut=True)
    rig.running(job, times=2)
    assert rig.agent_of(job) is not agent
    agent.proxy.clear()
    (ended,) = rig.over(job)
    first, second = rig.ledger.of(job)
    assert first.ended < second.began
    assert (ended["state"], ended["exit_code"]) == ("failed", 3)
    assert moves(rig, job)[-1] == "lost"


def test_a_job_that_nobody_would_replace_outlives_an_absence_of_twice_the_lease(rig):
    job = rig.submit("lines:20", "sleep:4", "lines:20", "exit:9")
    rig.running(job)
    for agent in rig.agents:
        agent.proxy.set(cut=True)
    rig.until(lambda: rig.ledger.of(job)[0].ended, "it ends while the server is away")
    time.sleep(2 * LEASE - 4)  # the absence itself is the fault
    for agent in rig.agents:
        agent.proxy.clear()
    (ended,) = rig.over(job)
    assert ended["exit_code"] == 9
    assert rig.log(job).splitlines() == [f"line {n}" for n in range(20)] * 2


@pytest.mark.parametrize("weather", [{"lose_answer": 0.4}, {"lose_request": 0.4}], ids=lambda each: next(iter(each)))
def test_f19_one_way_partitions_start_nothing_twice(rig, weather):
    for agent in rig.agents:
        agent.proxy.set(**weather)
    jobs = [rig.submit("lines:5", "sleep:0.2") for _ in range(6)]
    assert {job["state"] for job in rig.over(*jobs, seconds=120)} == {"succeeded"}
    assert [len(rig.ledger.of(job)) for job in jobs] == [1] * len(jobs)
    for agent in rig.agents:
        agent.proxy.clear()


@pytest.mark.parametrize("calls", [200, whole(10_000)])
def test_f21_doubled_reordered_and_replayed_calls_end_as_in_fair_weather(rig, calls):
    before = sum(agent.proxy.count.calls for agent in rig.agents)
    for agent in rig.agents:
        agent.proxy.set(double=0.3, replay=0.3, delay=0.1, lose_answer=0.1)
    jobs = []
    while sum(agent.proxy.count.calls for agent in rig.agents) - before < calls:
        # Never three failures in a row: that would rightly take their worker out of the fleet.
        jobs.append(rig.submit("lines:5", "sleep:0.1", f"exit:{len(jobs) % 2}"))
        rig.over(jobs[-1], seconds=120)
    assert [rig.job(job)["exit_code"] for job in jobs] == [number % 2 for number in range(len(jobs))]
    assert all(rig.log(job).splitlines() == [f"line {n}" for n in range(5)] for job in jobs)
    assert sum(agent.proxy.count.replayed for agent in rig.agents) > 0
    for agent in rig.agents:
        agent.proxy.clear()


def call(agent, path, **body):
    """A call of the agents' protocol with an agent's own credential."""
    credential = json.loads((agent.data / "credential.json").read_text())["credential"]
    headers = {"Authorization": f"Bearer {credential}"}
    return httpx.post(f"{agent.rig.up.url}/api/agent/v1/{path}", json=body, headers=headers)


def test_f22_of_two_different_ends_the_first_stands(rig):
    job = rig.submit("exit:0")
    rig.over(job)
    task, agent = rig.task(job), rig.agent_of(job)
    epoch = rig.database.one(f"SELECT epoch FROM workers_worker WHERE name = '{agent.name}'")
    report = {
        "fence": task["fence"],
        "epoch": epoch,
        "exit_code": 0,
        "duration_ms": 1,
        "log_size": 0,
        "timed_out": False,
    }
    answer = call(agent, f"tasks/{task['id']}/finish", **report)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_finished")
    assert rig.job(job)["exit_code"] == 0


def test_f29_a_stolen_credential_on_a_second_machine_is_refused_and_told(rig):
    agent = rig.agents[0]
    facts = {"id": agent.name, "origin": "local"}
    body = {"worker": agent.name, "boot_id": "another-machine", "protocol": [1], "facts": facts, "running": []}
    answer = call(agent, "register", **body)
    assert (answer.status_code, answer.json()["code"]) == (409, "machine_conflict")
    told = f"SELECT count(*) FROM workers_event WHERE subject = '{agent.name}' AND verb = 'machine_conflict'"
    assert rig.database.one(told) == 1
    job = rig.submit("sleep:0.1", placement={"worker_ids": [agent.name]})
    assert rig.over(job)[0]["state"] == "succeeded"
