"""What an agent left of a task, from its first step to its last: it starts at most once, and its end is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import Claims
from tests.agent.server_side import A_CLAIM, CLAIM, FINISH, RELEASE, STARTED, Log
from tests.agent.shimmed import eventually
from tests.agent.wire import Script
from workers.agent.client import Assignment
from workers.agent.folder import TaskRecord
from workers.agent.preparing import Host, prepared
from workers.agent.runner import TaskRun
from workers.agent.shim import files
from workers.agent.shim.files import boot_id, write_whole

PATIENCE = 30.0


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
