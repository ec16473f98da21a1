"""Clocks that lie, floods, bombs, hosts that are let go or come back with other devices.

F24, a step of the server's own wall clock, is not tried here but on one thread with clocks of its own, in
tests/scheduler/test_watch.py: that the step is seen and told (`test_a_step_of_the_clock_moves_leases_along_…`, +2 h and
-2 h), that leases last as long as they would have (`test_after_a_step_leases_last_…`), that nothing is released early
and nobody is declared lost (both), and that the doctor says it (`test_the_doctor_tells_of_the_watch`).
"""

import os
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import psutil
import pytest

from tests.faults.ledger import is_alive
from tests.faults.rig import Rig

pytestmark = pytest.mark.slow

AGAIN = {"retries": {"max": 1, "on": ["lost"]}}
GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""
MB = 1_000_000


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    # Longer than the grace, as it is everywhere: a revoked host's devices are free in the end after lease and margin.
    with Rig(tmp_path_factory.mktemp("rig"), GPULAYER_LEASE_SECONDS="14", GPULAYER_LOST_AFTER_SECONDS="20") as rig:
        yield rig


def whole(*values):
    return pytest.param(*values, marks=pytest.mark.soak)


def at(agent):
    """In a job's document: there and nowhere else."""
    return {"placement": {"worker_ids": [agent.name]}}


@contextmanager
def another(rig, name, devices, *words, **environment):
    """One more agent for a test; drained where it still lives in the end."""
    agent = rig.add(name, devices, *words)
    known = rig.online()
    agent.start(**environment)
    rig.until(lambda: rig.online() > known, f"{name} registers")
    rig.agents.append(agent)
    try:
        yield agent
    finally:
        rig.people.post(f"workers/{name}/drain")


def events(rig, where):
    return rig.database.one(f"SELECT count(*) FROM workers_event WHERE {where}")


def fallen(rig, agent):
    """How often it was silent for too long."""
    return events(rig, f"subject = '{agent.name}' AND verb = 'liveness' AND after IN ('suspect', 'lost')")


def beats(rig, agent, number):
    """Wait until it has called so many times more."""
    before = agent.proxy.count.calls
    rig.until(lambda: agent.proxy.count.calls >= before + number, f"{agent.name} calls {number} times")


def set_to(clock, seconds):
    """At one instant, as a clock is set: nobody reads half of it."""
    new = clock.with_name("new")
    new.write_text(str(seconds))
    new.replace(clock)


def test_f23_an_agent_whose_wall_clock_jumps_by_hours_and_days_loses_nothing(rig, tmp_path):
    clock = tmp_path / "clock"
    set_to(clock, 0)
    with another(rig, "wrong", 2, FAULTS_CLOCK=str(clock)) as agent:
        job = rig.submit("lines:10", "sleep:12", "lines:10", "exit:5", **AGAIN, **at(agent))
        rig.running(job)
        for seconds in (3600, -3600, 86_400, -86_400):
            set_to(clock, seconds)
            beats(rig, agent, 3)
            quick = rig.submit(**at(agent))
            assert rig.over(quick)[0]["state"] == "succeeded"
        assert rig.task(job)["state"] == "running"
        (ended,) = rig.over(job)
        assert ended["exit_code"] == 5
        assert len(rig.ledger.of(job)) == 1
        assert rig.log(job).splitlines() == [f"line {n}" for n in range(10)] * 2
        assert fallen(rig, agent) == 0


def instant(value):
    """A database's instant in nanoseconds of CLOCK_BOOTTIME."""
    moment = datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(value, str) else value
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - int((time.time() - moment.timestamp()) * 1e9)


def test_f30_of_a_revoked_host_every_process_has_ended_before_its_devices_are_free(rig):
    with another(rig, "leaver", 2) as agent:
        jobs = [rig.submit("sleep:60", **at(agent)), rig.submit("deaf", "daemon:60", "sleep:60", **at(agent))]
        for job in jobs:
            rig.running(job)
        asked = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        assert rig.people.post("workers/leaver/revoke").status_code == 200
        assert agent.process.wait(60) != 0
        rig.agents.remove(agent)
        for job in jobs:
            (life,) = rig.ledger.of(job)
            rig.until(lambda job=job: rig.task(job)["released_at"], f"the device of {job} is free")
            assert not is_alive(life.pid)
            assert life.ended - asked < (GRACE + 4) * 1e9
            assert life.ended <= instant(rig.task(job)["released_at"]) + 50e6
        assert {job["state"] for job in rig.over(*jobs)} == {"failed"}


def holds(rig):
    """Which device each open hold is on, by its UUID, and the index that the task has for it."""
    return rig.database.rows(
        'SELECT d.uuid, d."index", d.present FROM scheduler_devicehold h JOIN workers_device d ON d.id = h.device_id'
        " JOIN workers_worker w ON w.id = h.worker_id WHERE h.released_at IS NULL AND w.name = 'renumbered'"
    )


def test_f31_with_fewer_and_renumbered_devices_no_hold_moves_and_the_worker_says_so(rig):
    with another(rig, "renumbered", 3) as agent:
        job = rig.submit("sleep:8", **at(agent))
        rig.running(job)
        (before,) = holds(rig)
        others = [uuid for uuid in agent.devices if uuid != before["uuid"]]
        agent.kill()
        agent.devices = [others[0], before["uuid"]]
        agent.start()
        rig.until(lambda: holds(rig)[0]["index"] == 1, "its device has the other index")
        (after,) = holds(rig)
        assert (after["uuid"], bool(after["present"])) == (before["uuid"], True)
        gone = f"SELECT d.present FROM workers_device d WHERE d.uuid = '{others[1]}'"
        assert not rig.database.one(gone)
        (offer,) = rig.people.get("workers/renumbered").json()["offered"]
        assert others[1] in offer
        assert offer.endswith("not found")
        (ended,) = rig.over(job)
        assert ended["state"] == "succeeded"
        (life,) = rig.ledger.of(job)
        assert life.devices == (before["uuid"],)


def threads_of_this_user():
    """What a limit of processes counts where no cgroup does: those of the whole user."""
    mine = [each.info for each in psutil.process_iter(["uids", "num_threads"])]
    return sum(each["num_threads"] or 0 for each in mine if each["uids"] and each["uids"].real == os.getuid())


def test_f35_a_process_bomb_and_a_memory_hog_end_and_the_agent_beats_on(rig):
    most = threads_of_this_user() + 150
    with another(rig, "bombed", 2, "--limit-processes", str(most), "--limit-memory", "256MiB") as agent:
        bomb, hog = rig.submit("bomb:300", **at(agent)), rig.submit("hog:1000", **at(agent))
        bombed, hogged = rig.over(bomb, hog)
        assert hogged["state"] == "failed"
        assert len(rig.log(hog).splitlines()) < 300
        if os.geteuid() != 0:  # the kernel limits nobody with root's rights
            assert bombed["state"] == "failed"
            assert rig.log(bomb).count("alive") < 300
        assert fallen(rig, agent) == 0
        after = rig.submit("exit:0", **at(agent))
        assert rig.over(after)[0]["state"] == "succeeded"


class Watched:
    """The most memory of some processes, looked at again and again while the block runs."""

    def __init__(self, *processes):
        self._processes, self._over = processes, threading.Event()
        self.before = self.most = self._now()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    @property
    def grown(self):
        return (self.most - self.before) / MB

    def _now(self):
        return sum(each.memory_info().rss for each in self._processes)

    def _watch(self):
        while not self._over.wait(0.1):
            self.most = max(self.most, self._now())


def lag(rig, job):
    """Seconds by which the stored log is behind what is written just now."""
    lines = rig.log(job).splitlines()
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return (now - int(lines[-1])) / 1e9 if lines else 0.0


@pytest.mark.parametrize(("how", "megabytes"), [("flood", 30), whole("flood", 100), whole("endless", 100)], ids=str)
def test_f27_a_flood_costs_little_memory_and_holds_up_nobody_elses_log(rig, how, megabytes):
    agent = rig.agents[0]
    other = rig.submit("ticks:120", **at(agent))
    rig.running(other)
    rig.until(lambda: rig.log(other), "its first line is there")
    with Watched(psutil.Process(agent.process.pid)) as host, Watched(*rig.parts("granian")) as web:
        flood = rig.submit(f"{how}:{megabytes}", **at(agent))
        lags = []
        rig.until(
            lambda: lags.append(lag(rig, other)) or rig.job(flood)["state"] == "succeeded", "it is all there", 110
        )
    rig.cancel(other)
    assert rig.task(flood)["log_size"] >= megabytes * MB
    print(f"{how} {megabytes} MB: agent +{host.grown:.0f} MB, web +{web.grown:.0f} MB, lag {max(lags):.1f} s")
    assert host.grown <= 64
    assert web.grown <= 100
    assert max(lags) <= 5
