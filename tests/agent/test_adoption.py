"""An agent that is killed, or stopped on purpose, and the next one: each command starts at most once, none is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agent.server_side import A_CLAIM, CLAIM, DECLINE, FINISH, RELEASE, STARTED, Log
from tests.agent.shimmed import eventually, python, texts
from tests.agent.wire import Script
from workers.agent.folder import AgentFolder
from workers.agent.shim.sweep import members, process, signal_all

PATIENCE = 30.0
ASSIGNED = {"assignments": [{"task": 1, "fence": 7, "job_id": "j-1", "worker": "here"}], "cancel": [], "kill": []}


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
