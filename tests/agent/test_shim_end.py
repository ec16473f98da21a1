"""How a task ends under its shim, and that none of its processes stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.agent.shimmed import Shimmed, eventually, python, sh
from workers.agent.shim import ladder, sweep
from workers.agent.shim.ladder import Ladder
from workers.agent.shim.sweep import members

Run = Callable[..., Shimmed]
ASKED = "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
DEAF = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_the_commands_own(run: Run, code: int) -> None:
    result = run(*sh(f"exit {code}")).over()
    assert (result["exit_code"], result["signal"], result["timed_out"]) == (code, None, False)


def test_a_command_that_is_killed_ends_by_the_signal(run: Run) -> None:
    result = run(*sh("kill -9 $$")).over()
    assert (result["exit_code"], result["signal"]) == (None, signal.SIGKILL)


def test_what_is_written_of_a_start_tells_the_process_from_a_later_one_of_its_number(run: Run) -> None:
    task = run("sleep", "600")
    pid = task.started()
    process = sweep.process(pid)
    assert process is not None
    assert process.start == (task.shim.started() or {})["start"]
    assert os.getsid(pid) == pid


def test_stopping_asks_first(run: Run) -> None:
    task = run(*sh(ASKED)).after_it_says(b"ready")
    assert task.shim.stop("cancelled", 30.0)
    assert task.over()["exit_code"] == 5
    assert b"gpulayer: cancelled\n" in task.output
    assert b"asked" in task.output


def test_a_hold_that_is_let_go_of_is_released_and_no_failure(run: Run) -> None:
    task = run()
    assert task.shim.stop("cancelled", 30.0)
    assert task.over()["exit_code"] == 0
    assert b"gpulayer: released\n" in task.output


def test_what_does_not_end_when_asked_is_killed_when_its_grace_is_over(run: Run) -> None:
    task = run(*sh(DEAF)).after_it_says(b"ready")
    began = time.monotonic()
    task.shim.stop("cancelled", 0.5)
    assert task.over()["signal"] == signal.SIGKILL
    assert 0.5 <= time.monotonic() - began < 20


def test_only_the_first_stop_counts(run: Run) -> None:
    task = run(*sh("echo ready; sleep 600")).after_it_says(b"ready")
    task.shim.stop("first", 30.0)
    task.shim.stop("second", 30.0)
    task.over()
    assert b"first" in task.output
    assert b"second" not in task.output


def test_a_stop_of_the_agents_own_is_told_as_its_cause(run: Run) -> None:
    from workers.agent.messages import Cause

    task = run("sleep", "600")
    task.started()
    task.shim.stop("stopped", 30.0, Cause(code="agent_stopped", detail="h: stopped"))
    assert task.over()["ended_by"] == {"code": "agent_stopped", "detail": "h: stopped"}


def test_a_command_that_takes_too_long_times_out(run: Run) -> None:
    task = run("sleep", "600", timeout_s=0.1)
    result = task.over()
    assert (result["timed_out"], result["signal"]) == (True, signal.SIGTERM)
    assert b"stopped after its time limit of 0.1 s" in task.output


def test_a_command_that_ends_in_time_does_not_time_out(run: Run) -> None:
    assert run("true", timeout_s=600).over()["timed_out"] is False


def test_the_time_it_took_is_the_commands_own(run: Run) -> None:
    assert run("sleep", "0.3").over()["duration_ms"] >= 300


def test_a_shim_that_is_told_to_end_ends_its_task(run: Run) -> None:
    task = run("sleep", "600")
    task.started()
    task.process().terminate()
    assert task.over()["ended_by"]["code"] == "shim_ended"


DOUBLE_FORK = python(
    "import os, time",
    "if os.fork() == 0:",
    "    os.setsid()",
    "    if os.fork() == 0:",
    "        os.environ.clear()",
    "        os.closerange(0, 100)",
    "        os.execve('/bin/sleep', ['sleep', '600'], {})",
    "    os._exit(0)",
    "os._exit(4)",
)


@pytest.mark.parametrize("argv", [
    pytest.param(sh("sleep 600 & exit 4"), id="a child in the background"),
    pytest.param(sh("setsid sleep 600 & exit 4"), id="a child in a session of its own"),
    pytest.param(sh("(trap '' TERM; echo deaf; sleep 600) & exit 4"), id="a child that ignores the question"),
    pytest.param(sh("env -i sleep 600 & exit 4"), id="a child that has dropped its environment"),
    pytest.param(DOUBLE_FORK, id="a daemon: two forks, a session of its own, an empty environment"),
    pytest.param(python("import os, time", "for _ in range(5):", "    if os.fork() == 0: os._exit(0)", "os._exit(4)"),
                 id="children that nobody has buried"),
])  # fmt: skip
def test_what_a_command_leaves_behind_is_ended_before_its_devices_are_free(run: Run, argv: tuple[str, ...]) -> None:
    before = {each.pid for each in psutil.process_iter()}
    task = run(*argv)
    assert task.over()["exit_code"] == 4
    # One that nobody has buried yet has no command line any more.
    new = [each for each in psutil.process_iter(["name", "cmdline"]) if each.pid not in before]
    sleepers = [each for each in new if each.info["name"] == "sleep"]
    assert [each for each in sleepers if "600" in (each.info["cmdline"] or [])] == []


def test_cancelling_reaches_a_child_in_a_session_of_its_own(run: Run) -> None:
    task = run(*sh("setsid sleep 600 & echo $!; wait")).after_it_says(b"\n")
    child = psutil.Process(int(task.output.split()[0]))
    task.shim.stop("cancelled", 30.0)
    task.over()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_command_dies_with_its_shim(run: Run) -> None:
    task = run("sleep", "600")
    pid = task.started()
    task.process().kill()
    eventually(lambda: sweep.process(pid) is None)
    assert task.shim.result() is None
    assert not task.shim.is_alive()


def test_what_survives_its_shim_is_found_by_its_tag(run: Run) -> None:
    task = run(*sh("setsid sleep 600 & echo $!; wait")).after_it_says(b"\n")
    child = int(task.output.split()[0])
    task.process().kill()
    eventually(lambda: not task.shim.is_alive())
    assert child in members(task.tag)


class Undying:
    """A process that no signal ends, as one that waits for a broken driver."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = 0.0
        self.signals: list[tuple[float, int]] = []
        monkeypatch.setattr(sweep, "members", lambda *_, **__: [77])
        monkeypatch.setattr(sweep, "signal_all", lambda _, number: self.signals.append((self.clock, number)))
        monkeypatch.setattr(ladder, "now", lambda: self.clock)


def test_a_process_that_does_not_die_is_told_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Undying(monkeypatch)
    steps = Ladder("tag", 1, 2)
    steps.sweep()
    for second in range(70):
        world.clock = float(second)
        assert not steps.is_clear()
    assert world.signals[0] == (0.0, signal.SIGTERM)
    assert next(at for at, number in world.signals if number == signal.SIGKILL) == ladder.LEFT_BEHIND_SECONDS
    assert steps.undying_for() == 69 - ladder.LEFT_BEHIND_SECONDS
    assert steps.left == [77]


def test_starting_a_shim_is_cheap(run: Run) -> None:
    run("true").over()
    spent: list[Any] = []
    for _ in range(3):
        task = run("sleep", "600")
        task.started()
        times = task.process().cpu_times()
        spent.append(times.user + times.system)
    assert min(spent) < 0.1, "it is started for every task"
