"""A lease ends a task on its host whoever is away; a hold ends by itself; without a lease everything goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.agent.shimmed import Shimmed, eventually, python, sh
from workers.agent.shim import locks, sweep
from workers.agent.shim.clock import now

Run = Callable[..., Shimmed]


def test_a_task_is_killed_when_its_lease_is_over(run: Run) -> None:
    deadline = now() + 0.5
    task = run(*sh("trap '' TERM; echo ready; while :; do sleep 0.05; done"), deadline=deadline)
    result = task.over()
    assert deadline <= now() < deadline + 5
    assert (result["signal"], result["ended_by"]["code"]) == (signal.SIGKILL, "lost")
    assert b"no contact with the server" in task.output


def test_it_is_asked_to_end_a_little_before(run: Run) -> None:
    began = now()
    task = run(*sh("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.02; done"),
               deadline=began + 30, warning_s=29.5)  # fmt: skip
    result = task.over()
    assert now() < began + 20
    assert (result["exit_code"], result["ended_by"]["code"]) == (0, "lost")
    assert b"saved" in task.output


def test_a_lease_that_is_extended_ends_later_and_is_never_shortened(run: Run) -> None:
    began = now()
    task = run("sleep", "600", deadline=began + 0.3)
    task.shim.extend(began + 0.9)
    task.shim.extend(began + 0.1)
    task.over()
    assert now() >= began + 0.9


def test_without_a_lease_nothing_is_ended_by_a_word_of_one(run: Run) -> None:
    task = run(*sh("echo ready; read x < /dev/null; sleep 0.6; exit 3")).after_it_says(b"ready")
    task.shim.extend(now() + 0.1)
    assert task.over()["exit_code"] == 3


def test_a_host_that_stood_still_beyond_the_lease_kills_at_once(run: Run) -> None:
    deadline = now() + 0.4
    task = run("sleep", "600", deadline=deadline)
    pid, shim = task.started(), task.process()
    shim.suspend()
    eventually(lambda: now() > deadline + 0.3)
    assert sweep.process(pid) is not None
    resumed = time.monotonic()
    shim.resume()
    task.over()
    assert time.monotonic() - resumed < 8  # not after the grace of ten seconds


def test_the_wall_clock_has_no_say(run: Run) -> None:
    # The shim asks for no other clock than that of the boot, but to stamp its output.
    task = run(*python("import time", "print('ready', flush=True)", "time.sleep(0.3)"), deadline=now() + 600)
    assert task.over()["exit_code"] == 0


def test_a_hold_runs_nothing_and_ends_in_time(run: Run) -> None:
    task = run(hold_until=now() + 0.3)
    assert task.started() == 0
    assert task.process().children() == []
    result = task.over()
    assert (result["exit_code"], result["signal"], result["ended_by"]) == (0, None, None)


@pytest.mark.parametrize("end", [
    pytest.param(lambda task: task.shim.stop("cancelled", 0.0), id="cancelled"),
    pytest.param(lambda task: task.shim.hold_until(now()), id="shortened"),
])  # fmt: skip
def test_a_hold_can_end_sooner(run: Run, end: Callable[[Shimmed], object]) -> None:
    task = run(hold_until=now() + 600)
    task.started()
    end(task)
    assert task.over()["exit_code"] == 0


def test_a_device_has_one_task_on_a_host_whatever_the_server_says(run: Run) -> None:
    device = {"device 0": locks.path_of("GPU-a")}
    first = run("sleep", "600", locks=device)
    first.started()
    second = run("true", locks=device)
    declined = second.over()["declined"]
    assert declined["code"] == "device_busy"
    assert "device 0 is held by another task of this host" in declined["detail"]
    assert not second.shim.intended()
    first.shim.stop("cancelled", 0.0)
    first.over()
    assert run("true", locks=device).over()["exit_code"] == 0


def test_a_device_stays_locked_while_anything_of_its_task_lives_even_without_the_shim(run: Run) -> None:
    device = {"device 0": locks.path_of("GPU-a")}
    task = run(*sh("setsid sleep 600 & echo $!; wait"), locks=device).after_it_says(b"\n")
    task.process().kill()
    eventually(lambda: not task.shim.is_alive())
    assert run("true", locks=device).over()["declined"]["code"] == "device_busy"
    psutil.Process(int(task.output.split()[0])).kill()
    eventually(lambda: run("true", locks=device).over().get("exit_code") == 0)


def test_locks_are_readable_for_every_user_and_never_go_through_a_link() -> None:
    path = locks.path_of("GPU-b/../..")
    handle = locks.hold(path)
    assert Path(path).stat().st_mode & 0o777 == 0o644
    with pytest.raises(locks.BusyError):
        locks.hold(path)
    os.close(handle)
    os.close(locks.hold(path))
    link = locks.path_of("GPU-link")
    Path(link).symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        locks.hold(link)


def test_different_devices_have_different_locks() -> None:
    names = ["GPU-a", "GPU-a ", "GPU_a", "GPU/a", "GPU-" + "a" * 200, "GPU-" + "a" * 201]
    assert len({locks.path_of(name) for name in names}) == len(names)
