"""The server's wall clock is set hours forward and back while jobs run: nobody is lost for it, nothing ends early."""

from pathlib import Path

import pytest

from tests.faults.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.soak]

HOUR = 3600
LOOKS = 6
"""So many looks of the server after the step have to leave everything as it is."""


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """A file that says by how much the server's wall clock is wrong; the agents' clocks are right."""
    library = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
    if library is None:
        pytest.skip("libfaketime is not installed (apt install libfaketime)")
    file = tmp_path_factory.mktemp("clock") / "offset"
    file.write_text("+0\n")
    return file, library


@pytest.fixture(scope="module")
def rig(clock, tmp_path_factory):
    file, library = clock
    faked = {
        "LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1",
        "PYTHONPATH": str(Path(__file__).with_name("set_clock")),
        "GPULAYER_LEASE_SECONDS": "15", "GPULAYER_LEASE_MARGIN_SECONDS": "5", "GPULAYER_LOST_AFTER_SECONDS": "15",
    }  # fmt: skip
    with Rig(tmp_path_factory.mktemp("rig"), agents=0, **faked) as rig:
        rig.agents = [rig.add(f"w{number}").start(LD_PRELOAD="", PYTHONPATH="") for number in (1, 2)]
        rig.until(lambda: rig.online() == 2, "the agents register")
        yield rig


def set_clock(file, seconds):
    """In one piece: a process that reads half of it would take another time."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


def looks(rig, since):
    """How often the server has looked since, by the clock that nobody sets."""
    return (rig.database.one("SELECT boottime_ms FROM scheduler_watch") - since) / 500


@pytest.mark.parametrize(("hours", "direction"), [(2, "forward"), (-2, "back")])
def test_f24_a_step_of_the_servers_clock_is_noticed_and_harms_nobody(rig, clock, hours, direction):
    jobs = [rig.submit("sleep:10", retries={"max": 2}), rig.submit("sleep:10")]
    for job in jobs:
        rig.running(job)
    tried = rig.database.one("SELECT count(*) FROM scheduler_attempt")
    noticed = rig.up.text.count(f"clock was set {direction} by")
    set_clock(clock[0], int(clock[0].read_text()) + hours * HOUR)
    rig.until(lambda: rig.up.text.count(f"clock was set {direction} by") > noticed, "the step is noticed")
    since = rig.database.one("SELECT boottime_ms FROM scheduler_watch")
    rig.until(lambda: looks(rig, since) > LOOKS, "the server goes on looking")
    assert rig.online() == 2
    assert rig.database.one("SELECT count(*) FROM workers_event WHERE verb = 'liveness' AND after = 'lost'") == 0
    assert {job["state"] for job in rig.over(*jobs)} == {"succeeded"}
    assert [len(rig.ledger.of(job)) for job in jobs] == [1, 1], "each ran once"
    assert rig.database.one("SELECT count(*) FROM scheduler_attempt") == tried, "and is not tried again"
