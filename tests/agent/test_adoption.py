"""An agent that is killed, or stopped on purpose, and the next one: each command starts at most once, none is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agent.conftest import Claims
from tests.agent.shimmed import eventually, python, texts
from tests.agent.test_runner import A_CLAIM, CLAIM, DECLINE, FINISH, LOG, RELEASE, STARTED, Log
from tests.agent.wire import Script
from workers.agent.client import Assignment
from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.preparing import Host, prepared
from workers.agent.runner import TaskRun
from workers.agent.shim import files
from workers.agent.shim.files import boot_id, write_whole
from workers.agent.shim.sweep import members, process, signal_all

PATIENCE = 30.0
ASSIGNED = {"assignments": [{"task": 1, "fence": 7, "job_id": "j-1", "worker": "here"}], "cancel": [], "kill": []}


@pytest.fixture
def log(script: Script) -> Log:
    made = Log()
    script.say(LOG, made)
    return made


class Agents:
    """One agent after the other on this host, each a process of its own."""

    def __init__(self, script: Script, folder: AgentFolder) -> None:
        self.script = script
        self.folder = folder
        self.now: subprocess.Popen[bytes] | None = None
        script.say("POST register", {"epoch": 1, "next_in": 0.2})
        script.say("POST heartbeat", lambda _: {"next_in": 0.2} | self.orders())
        script.say("GET assignments", lambda _: self.orders())

    def orders(self) -> dict[str, Any]:
        claimed = bool(self.script.made(CLAIM))
        return {"assignments": [], "cancel": []} if claimed else ASSIGNED

    def start(self, on_stop: str = "leave") -> None:
        registered = len(self.script.made("POST register"))
        words = [sys.executable, "-m", "tests.agent.agent_process", self.script.url, str(self.folder.root), on_stop]
        self.now = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        self.script.wait_for("POST register", registered + 1)

    def send(self, number: signal.Signals) -> None:
        assert self.now is not None
        self.now.send_signal(number)
        self.now.wait(PATIENCE)

    def end(self) -> None:
        if self.now is not None and self.now.poll() is None:
            self.send(signal.SIGKILL)
        for record in self.folder.left_tasks():
            record.shim.stop("the test is over", 0.0)
            signal_all(members(record.tag), signal.SIGKILL)
            eventually(lambda record=record: not record.shim.is_alive())  # type: ignore[misc]


@pytest.fixture
def agents(script: Script, folder: AgentFolder) -> Iterator[Agents]:
    made = Agents(script, folder)
    yield made
    made.end()


def a_job(script: Script, tmp_path: Path) -> Path:
    """A job that keeps a ledger of its own and writes on until a file lets it end."""
    lines = (
        "import os, time, pathlib",
        f"with open({str(tmp_path / 'ledger')!r}, 'a') as ledger: ledger.write(f'START {{os.getpid()}}\\n')",
        "number = 0",
        f"while not pathlib.Path({str(tmp_path / 'end')!r}).exists():",
        "    print(number, flush=True)",
        "    number += 1",
        "    time.sleep(0.02)",
        "print('the last line')",
        "os._exit(3) if print(end='', flush=True) is None else None",
    )
    script.say(CLAIM, A_CLAIM | {"argv": list(python(*lines)), "devices": [{"index": 0, "uuid": "GPU-a"}]})
    return tmp_path / "end"


def starts(tmp_path: Path) -> list[int]:
    ledger = tmp_path / "ledger"
    return [int(line.split()[1]) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def counted(text: bytes) -> None:
    """The whole output, no gap and no repeat."""
    *numbers, last = text.decode().splitlines()
    assert numbers == [str(number) for number in range(len(numbers))]
    assert last == "the last line"


@pytest.mark.slow
def test_an_agent_killed_ten_times_in_a_row_changes_nothing_for_its_job(
    script: Script, log: Log, agents: Agents, tmp_path: Path
) -> None:
    end = a_job(script, tmp_path)
    agents.start()
    script.wait_for(STARTED)
    for _ in range(10):
        agents.send(signal.SIGKILL)
        agents.start()
    end.touch()
    script.wait_for(RELEASE)
    (pid,) = starts(tmp_path)
    assert {call.document["pid"] for call in script.made(STARTED)} == {pid}
    assert script.made(FINISH)[-1].document["exit_code"] == 3
    counted(log.text)


def test_an_agent_that_leaves_lets_its_job_run_and_the_next_takes_it_up(
    script: Script, log: Log, agents: Agents, tmp_path: Path
) -> None:
    end = a_job(script, tmp_path)
    agents.start("leave")
    script.wait_for(STARTED)
    (pid,) = eventually(lambda: starts(tmp_path))
    agents.send(signal.SIGTERM)
    assert process(pid) is not None
    assert not [call for call in script.made("POST heartbeat") if call.document.get("leaving")]
    agents.start("leave")
    running = script.made("POST register")[-1].document["running"]
    assert running == [{"task": 1, "fence": 7}]
    end.touch()
    script.wait_for(RELEASE)
    assert script.made(FINISH)[-1].document["exit_code"] == 3
    counted(log.text)


def test_a_job_that_ended_while_no_agent_was_there_is_reported_by_the_next(
    script: Script, log: Log, agents: Agents, tmp_path: Path
) -> None:
    end = a_job(script, tmp_path)
    agents.start()
    script.wait_for(STARTED)
    agents.send(signal.SIGKILL)
    end.touch()
    (record,) = agents.folder.left_tasks()
    eventually(record.result)
    agents.start()
    script.wait_for(RELEASE)
    assert script.made(FINISH)[-1].document["exit_code"] == 3
    counted(log.text)


def test_when_agent_and_shim_are_killed_what_is_left_is_ended_before_its_devices_are_free(
    script: Script, log: Log, agents: Agents, tmp_path: Path
) -> None:
    script.say(CLAIM, A_CLAIM | {"argv": ["sh", "-c", "setsid sleep 600 & echo $! > child; wait"]})
    agents.start()
    script.wait_for(STARTED)
    (record,) = agents.folder.left_tasks()
    written = Path(record.private) / "child"
    child = int(eventually(lambda: written.exists() and written.read_text()))
    agents.send(signal.SIGKILL)
    psutil.Process(record.pid).parent().kill()  # type: ignore[union-attr]
    eventually(lambda: not record.shim.is_alive())
    assert process(child) is not None
    released: list[bool] = []
    script.say(RELEASE, lambda _: released.append(process(child) is None) or {})
    agents.start()
    eventually(lambda: released)
    assert released == [True]
    assert script.made(FINISH)[-1].document["ended_by"]["code"] == "shim_ended"


class Left:
    """What an agent may have left of a task when it was killed, from its first step to its last."""

    def __init__(self, host: Host, claim: Claims, tmp_path: Path) -> None:
        self.host = host
        self.claim = claim("sh", "-c", f"echo START >> {tmp_path}/ledger; echo hello; exit 3")
        self.record: TaskRecord = host.folder.new_task(self.claim)
        self.ledger = tmp_path / "ledger"

    def starts(self) -> int:
        return self.ledger.read_text().count("START") if self.ledger.exists() else 0

    def claimed(self) -> None:
        """Written down, and nothing else."""

    def intended(self) -> None:
        """The shim was killed before it could start the command, or just when it did."""
        write_whole(f"{self.record.folder}/{files.INTENT}", {"shim": 1, "boot_id": boot_id(), "tag": self.record.tag})

    def of_another_boot(self) -> None:
        write_whole(f"{self.record.folder}/{files.INTENT}", {"shim": 1, "boot_id": "before", "tag": self.record.tag})

    def running(self) -> None:
        """Started, and not yet told."""
        self.record.shim.start(prepared(self.host, self.claim, self.record, None))

    def ended(self) -> None:
        """Over, and not yet told."""
        self.running()
        eventually(lambda: not self.record.shim.is_alive())


@pytest.fixture
def left(host: Host, a_claim: Claims, tmp_path: Path) -> Left:
    return Left(host, a_claim, tmp_path)


@pytest.mark.parametrize(("state", "ending", "starts"), [
    pytest.param(Left.claimed, {"exit_code": 3}, 1, id="claimed: it is started now"),
    pytest.param(Left.intended, {"signal": 9, "ended_by": "shim_ended"}, 0, id="between intent and exec: never again"),
    pytest.param(Left.of_another_boot, {"signal": 9, "ended_by": "shim_ended"}, 0, id="the host was restarted"),
    pytest.param(Left.running, {"exit_code": 3}, 1, id="between exec and started"),
    pytest.param(Left.ended, {"exit_code": 3}, 1, id="ended, not reported"),
])  # fmt: skip
def test_whenever_the_agent_was_killed_the_command_starts_at_most_once_and_its_end_is_told(
    script: Script, log: Log, left: Left, host: Host, state: Callable[[Left], None], ending: dict[str, Any], starts: int
) -> None:
    script.say(CLAIM, A_CLAIM | {"argv": list(left.claim.argv)})
    state(left)
    next_run = TaskRun(host, Assignment(task=1, fence=7, job_id="j-1"), host.folder.left_tasks()[0])
    next_run.start()
    next_run.join(PATIENCE)
    assert not next_run.alive
    told = script.made(FINISH)[-1].document
    assert {key: told[key]["code"] if key == "ended_by" else told[key] for key in ending} == ending
    assert left.starts() == starts
    assert len(script.made(STARTED)) == starts
    assert len(script.made(RELEASE)) == 1
    assert host.folder.left_tasks() == []
    assert (log.text == b"hello\n") == (starts == 1)


def test_a_start_is_not_forgotten_when_its_agent_dies_before_the_shim_reads_its_plan(host: Host, left: Left) -> None:
    """The lock that says "a shim lives" is held from the instant at which one is started, not from its first line."""
    shim = left.record.shim
    shim.start({"not": "a whole plan"} | prepared(host, left.claim, left.record, None))
    assert shim.is_alive() or shim.result() is not None
    eventually(lambda: not shim.is_alive())


def test_a_shim_whose_agent_died_before_it_had_told_the_plan_starts_nothing(left: Left, tmp_path: Path) -> None:
    read, write = os.pipe()
    shim = left.record.shim
    lock, inbox = shim._lock(), shim._inbox()
    shim._child = shim._spawn(read, lock, inbox)
    for each in (read, lock, inbox):
        os.close(each)
    assert shim.is_alive()
    os.write(write, json.dumps({"tag": "x"}).encode()[:-3])
    os.close(write)
    eventually(lambda: not shim.is_alive())
    assert not shim.intended()
    assert shim.errors() == ""


def test_a_claimed_task_is_given_back_by_an_agent_that_leaves(script: Script, log: Log, agents: Agents) -> None:
    script.say(CLAIM, A_CLAIM | {"argv": ["true"], "go": False})
    agents.start()
    script.wait_for(CLAIM, 2)
    agents.send(signal.SIGTERM)
    assert script.made(DECLINE)[0].document["code"] == "agent_stopping"
    assert agents.folder.left_tasks() == []


def test_ctrl_c_ends_the_job_where_it_is_to_end_with_the_agent(
    script: Script, log: Log, agents: Agents, tmp_path: Path
) -> None:
    a_job(script, tmp_path)
    agents.start("end")
    script.wait_for(STARTED)
    (pid,) = eventually(lambda: starts(tmp_path))
    agents.send(signal.SIGINT)
    assert process(pid) is None
    assert script.made(FINISH)[-1].document["ended_by"]["code"] == "agent_stopped"
    assert script.made(RELEASE)
    assert [call for call in script.made("POST heartbeat") if call.document.get("leaving")]
    assert texts(log.bytes)[-1] == (b"e", b"gpulayer: stopped: the agent of this host was stopped\n")
