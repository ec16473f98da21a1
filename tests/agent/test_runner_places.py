"""Leases, gangs, holds, and tasks that are given back: what a task needs of its host."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.server_side import A_CLAIM, CLAIM, DECLINE, FINISH, LOG, RELEASE, STARTED, Log, finished, over
from tests.agent.wire import Call, Script, problem
from workers.agent.folder import AgentFolder
from workers.agent.preparing import Host
from workers.agent.runner import TaskRun
from workers.agent.shim import locks
from workers.agent.shim.clock import now


def test_a_lease_counts_from_before_the_claim(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    began = now()
    over(take("sleep", "600", lease_seconds=0.5), folder)
    assert began + 0.4 < now() < began + 10
    assert finished(script)["ended_by"]["code"] == "lost"


@pytest.mark.parametrize(("more", "code"), [
    pytest.param({"devices": [{"index": 0, "uuid": "GPU-elsewhere"}]}, "device_unknown", id="a device of another host"),
    pytest.param({"devices": [{"index": 0, "uuid": "GPU-held"}]}, "device_busy", id="a device that is held"),
])  # fmt: skip
def test_what_is_no_fault_of_the_job_gives_it_back(
    script: Script, take: Callable[..., TaskRun], folder: AgentFolder, host: Host, more: dict[str, Any], code: str
) -> None:
    host.devices = frozenset({"GPU-held"})
    held = locks.hold(locks.path_of("GPU-held"))
    over(take("true", **more), folder)
    os.close(held)
    assert script.made(DECLINE)[0].document["code"] == code
    assert script.made(STARTED) == script.made(FINISH) == []


def test_a_task_that_has_not_started_when_the_agent_leaves_is_given_back(
    script: Script, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = take("true", go=False)
    script.wait_for(CLAIM, 2)
    assert running.leave()
    over(running, folder)
    assert script.made(DECLINE)[0].document["code"] == "agent_stopping"


GANG = {
    "num_workers": 2, "procs_per_worker": 1, "node_rank": 0, "launcher": "none", "comm_backend": "gloo",
    "master_address": None, "master_port": None,
}  # fmt: skip


def with_its_port(call: Call) -> Any:
    """Let go once the first member has named a port, which it does not know that it must."""
    port = call.document.get("master_port")
    if port is None:
        return problem(422, "master_port_missing")
    gang = GANG | {"master_port": port, "master_address": "127.0.0.1"}
    words = "echo $MASTER_ADDR:$MASTER_PORT $NODE_RANK/$NNODES"
    return {**A_CLAIM, "argv": ["sh", "-c", words], "gang": gang}


def test_the_first_of_a_gang_names_a_port_that_is_free(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = take("true", claim=with_its_port)
    over(running, folder)
    port = script.made(CLAIM)[-1].document["master_port"]
    assert log.text == f"127.0.0.1:{port} 0/2\n".encode()


def test_a_port_that_was_taken_meanwhile_gives_the_gang_back(
    script: Script, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    with socket.socket() as taken:

        def too_late(call: Call) -> Any:
            answer = with_its_port(call)
            if isinstance(answer, dict):
                taken.bind(("", answer["gang"]["master_port"]))
                taken.listen(1)
            return answer

        over(take("true", claim=too_late), folder)
    assert script.made(DECLINE)[0].document["code"] == "port_taken"


def test_a_hold_keeps_devices_until_it_is_cancelled_and_that_is_no_failure(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = take(hold={"seconds": 600, "until": None, "user": "mira"}, devices=[{"index": 0, "uuid": "GPU-a"}])
    assert script.wait_for(STARTED)[0].document["pid"] == 0
    assert running.holder is not None
    assert (running.holder.people, running.holder.devices) == (("mira",), ((0, "GPU-a"),))
    with pytest.raises(locks.BusyError):
        locks.hold(locks.path_of("GPU-a"))
    running.stop("cancelled")
    over(running, folder)
    assert finished(script)["exit_code"] == 0


def test_a_credential_that_is_denied_by_mistake_ends_nothing(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.reporting.DENIED_SECONDS", 0.01)
    script.once(LOG, problem(401, "unauthorized"), problem(403, "forbidden"))
    over(take("sh", "-c", "echo kept; exit 3"), folder)
    assert (log.text, finished(script)["exit_code"]) == (b"kept\n", 3)


def test_a_server_without_room_for_the_log_hears_of_the_end_and_gets_the_rest_later(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.log_sender.FULL_DISK_SECONDS", 0.1)
    script.say(LOG, (507, {}))
    running = take("sh", "-c", "echo kept; exit 3")
    script.wait_for(RELEASE)
    assert (finished(script)["exit_code"], finished(script)["log_size"]) == (3, 0)
    assert finished(script)["log_total"] > 0
    script.say(LOG, log)
    over(running, folder)
    assert log.text == b"kept\n"
