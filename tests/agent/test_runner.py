"""A task from claim to release against a server that has bad days."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.agent.shimmed import texts
from tests.agent.wire import Call, Script, problem
from workers.agent.client import Assignment
from workers.agent.folder import AgentFolder
from workers.agent.preparing import Host
from workers.agent.reporting import Session
from workers.agent.runner import TaskRun
from workers.agent.shim import locks
from workers.agent.shim.clock import now

CLAIM = "POST tasks/1/claim"
STARTED = "POST tasks/1/started"
LOG = "PUT tasks/1/log"
FINISH = "POST tasks/1/finish"
RELEASE = "POST tasks/1/release"
DECLINE = "POST tasks/1/decline"
A_CLAIM: dict[str, Any] = {
    "task": 1, "fence": 7, "job_id": "j-1", "attempt": 1, "rank": 0, "go": True, "workdir": None, "env": {},
    "secrets": {}, "environment": "default", "devices": [], "timeout_s": None,
}  # fmt: skip
PATIENCE = 30.0


class Log:
    """The server's side of a log: takes what goes on from its end."""

    def __init__(self) -> None:
        self.bytes = b""

    def __call__(self, call: Call) -> Any:
        offset = int(call.query["offset"])
        if offset > len(self.bytes):
            return problem(416, "log_gap", size=len(self.bytes))
        self.bytes = self.bytes[:offset] + call.body
        return {"size": len(self.bytes)}

    @property
    def text(self) -> bytes:
        return b"".join(text for _, text in texts(self.bytes))


@pytest.fixture
def log(script: Script) -> Log:
    made = Log()
    script.say(LOG, made)
    return made


@pytest.fixture
def run(script: Script, session: Session, host: Host) -> Iterator[Callable[..., TaskRun]]:
    runs: list[TaskRun] = []

    def make(*argv: str, **more: Any) -> TaskRun:
        script.say(CLAIM, more.pop("claim", A_CLAIM | {"argv": argv} | more))
        runs.append(TaskRun(host, Assignment(task=1, fence=7, job_id="j-1")))
        runs[-1].start()
        return runs[-1]

    yield make
    for each in runs:
        each.stop("the test is over", 0.0)
    session.end()
    for each in runs:
        each.join(PATIENCE)


def over(run: TaskRun, folder: AgentFolder) -> None:
    """The task is done with: nothing of it is left to report."""
    run.join(PATIENCE)
    assert not run.alive
    assert folder.left_tasks() == []


def finished(script: Script) -> dict[str, Any]:
    """The one finish report that was taken."""
    return dict(script.made(FINISH)[-1].document)


def test_a_task_is_claimed_started_reported_and_released(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    over(run("sh", "-c", "echo hello; exit 3"), folder)
    assert [call.path for call in script.calls] == [
        "tasks/1/claim", "tasks/1/started", "tasks/1/log", "tasks/1/finish", "tasks/1/release",
    ]  # fmt: skip
    assert log.text == b"hello\n"
    started = script.made(STARTED)[0].document
    assert started["workdir"].startswith(str(folder.root / "work"))
    assert {key: started[key] for key in ("fence", "epoch")} == {"fence": 7, "epoch": 1}
    report = finished(script)
    assert report.pop("duration_ms") >= 0
    assert report == {
        "fence": 7, "epoch": 1, "exit_code": 3, "signal": None, "log_size": len(log.bytes), "start_error": None,
        "ended_by": None, "timed_out": False, "log_sha256": hashlib.sha256(log.bytes).hexdigest(),
        "log_total": len(log.bytes),
    }  # fmt: skip


def test_a_command_that_cannot_start_says_why_and_holds_nothing(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    over(run("true", workdir="/no/such/folder"), folder)
    assert script.made(STARTED) == []
    assert finished(script)["start_error"]["code"] == "workdir_missing"
    assert b"there is no folder /no/such/folder" in log.text
    assert len(script.made(RELEASE)) == 1


def test_the_log_goes_back_to_where_the_server_is(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    lost: list[bytes] = []

    def forgetful(call: Call) -> Any:
        """Take the first part, then have forgotten it."""
        lost.append(call.body)
        script.say(LOG, log)
        return {"size": len(call.body)}

    script.say(LOG, forgetful)
    over(run("sh", "-c", "echo one; sleep 0.6; echo two"), folder)
    assert lost
    assert log.text == b"one\ntwo\n"
    assert finished(script)["log_size"] == len(log.bytes)


@pytest.mark.parametrize("code", ["log_full", "log_malformed", "log_differs"])
def test_where_no_more_output_is_taken_the_task_goes_on(
    script: Script, run: Callable[..., TaskRun], folder: AgentFolder, code: str
) -> None:
    script.say(LOG, problem(409, code, size=5))
    over(run("sh", "-c", "echo x; exit 0"), folder)
    assert (finished(script)["exit_code"], finished(script)["log_size"]) == (0, 5)
    assert len(script.made(RELEASE)) == 1


def test_a_server_that_is_away_loses_nothing(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    for call in (STARTED, LOG, FINISH, RELEASE):
        script.once(call, (503, {}), (500, {}), (502, {}))
    over(run("sh", "-c", "echo kept; exit 3"), folder)
    assert log.text == b"kept\n"
    assert finished(script)["exit_code"] == 3
    assert len(script.made(RELEASE)) == 4


def test_a_report_under_an_epoch_that_is_over_waits_for_the_next(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder, session: Session
) -> None:
    script.say(FINISH, lambda call: {} if call.document["epoch"] == 2 else problem(409, "stale_epoch"))
    running = run("true")
    assert session.stale.wait(PATIENCE)
    session.renew(2)
    over(running, folder)
    assert [call.document["epoch"] for call in script.made(FINISH)] == [1, 2]
    assert script.made(RELEASE)[0].document["epoch"] == 2


def test_a_claim_that_is_refused_starts_nothing(
    script: Script, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.once(CLAIM, problem(409, "not_assigned"))
    over(run("true"), folder)
    assert [call.path for call in script.calls] == ["tasks/1/claim"]


def test_an_attempt_that_the_server_gave_up_is_killed_and_released(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.say(STARTED, problem(409, "stale_fence"))
    over(run("sleep", "600"), folder)
    assert script.made(FINISH) == []
    assert len(script.made(RELEASE)) == 1


def test_another_result_that_stands_already_is_left_standing(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.say(FINISH, problem(409, "already_finished"))
    over(run("true"), folder)
    assert len(script.made(RELEASE)) == 1


def test_a_task_waits_until_all_of_its_gang_are_ready(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.barrier.BARRIER_SECONDS", 0.01)
    script.once(CLAIM, *(lambda call: script.answers[CLAIM] | {"go": False} for _ in range(3)))
    over(run("true"), folder)
    assert len(script.made(CLAIM)) == 4
    assert len(script.made(STARTED)) == 1


def test_cancelling_ends_the_command_and_reports_the_signal(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = run("sleep", "600")
    script.wait_for(STARTED)
    running.stop("cancelled")
    over(running, folder)
    assert (finished(script)["exit_code"], finished(script)["signal"]) == (None, 15)
    assert b"gpulayer: cancelled" in log.text


@pytest.mark.parametrize(("argv", "more", "words"), [
    pytest.param(("true",), {}, "exit code 0", id="well"),
    pytest.param(("sh", "-c", "exit 3"), {}, "exit code 3", id="with an error"),
    pytest.param(("sh", "-c", "kill -9 $$"), {}, "signal 9", id="killed"),
    pytest.param(("sleep", "600"), {"timeout_s": 1}, "signal 15 (longer than its time limit)", id="too long"),
    pytest.param(("true",), {"workdir": "/no/such"}, "not started: ", id="not at all"),
])  # fmt: skip
def test_the_agents_own_log_says_how_a_task_ended(
    run: Callable[..., TaskRun], log: Log, folder: AgentFolder, caplog: pytest.LogCaptureFixture,
    argv: tuple[str, ...], more: dict[str, Any], words: str,
) -> None:  # fmt: skip
    caplog.set_level("INFO", logger="workers.agent")
    over(run(*argv, **more), folder)
    (said,) = [message for message in caplog.messages if "ended" in message]
    assert said.startswith(f"task 1 (j-1): ended, {words}")


def test_and_that_it_was_cancelled(
    script: Script, run: Callable[..., TaskRun], log: Log, folder: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="workers.agent")
    running = run("sleep", "600")
    script.wait_for(STARTED)
    running.stop("cancelled")
    over(running, folder)
    assert "task 1 (j-1): ended, signal 15 (cancelled)" in caplog.messages


def test_a_task_cancelled_before_its_start_never_runs(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.barrier.BARRIER_SECONDS", 0.01)
    running = run("true", go=False)
    script.wait_for(CLAIM, 2)
    running.stop("cancelled")
    over(running, folder)
    assert script.made(STARTED) == []
    assert finished(script)["signal"] == 15


def test_a_lease_counts_from_before_the_claim(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    began = now()
    over(run("sleep", "600", lease_seconds=0.5), folder)
    assert began + 0.4 < now() < began + 10
    assert finished(script)["ended_by"]["code"] == "lost"


@pytest.mark.parametrize(("more", "code"), [
    pytest.param({"devices": [{"index": 0, "uuid": "GPU-elsewhere"}]}, "device_unknown", id="a device of another host"),
    pytest.param({"devices": [{"index": 0, "uuid": "GPU-held"}]}, "device_busy", id="a device that is held"),
])  # fmt: skip
def test_what_is_no_fault_of_the_job_gives_it_back(
    script: Script, run: Callable[..., TaskRun], folder: AgentFolder, host: Host, more: dict[str, Any], code: str
) -> None:
    host.devices = frozenset({"GPU-held"})
    held = locks.hold(locks.path_of("GPU-held"))
    over(run("true", **more), folder)
    os.close(held)
    assert script.made(DECLINE)[0].document["code"] == code
    assert script.made(STARTED) == script.made(FINISH) == []


def test_a_task_that_has_not_started_when_the_agent_leaves_is_given_back(
    script: Script, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = run("true", go=False)
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
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = run("true", claim=with_its_port)
    over(running, folder)
    port = script.made(CLAIM)[-1].document["master_port"]
    assert log.text == f"127.0.0.1:{port} 0/2\n".encode()


def test_a_port_that_was_taken_meanwhile_gives_the_gang_back(
    script: Script, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    with socket.socket() as taken:

        def too_late(call: Call) -> Any:
            answer = with_its_port(call)
            if isinstance(answer, dict):
                taken.bind(("", answer["gang"]["master_port"]))
                taken.listen(1)
            return answer

        over(run("true", claim=too_late), folder)
    assert script.made(DECLINE)[0].document["code"] == "port_taken"


def test_a_hold_keeps_devices_until_it_is_cancelled_and_that_is_no_failure(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = run(hold={"seconds": 600, "until": None, "user": "mira"}, devices=[{"index": 0, "uuid": "GPU-a"}])
    assert script.wait_for(STARTED)[0].document["pid"] == 0
    assert running.holder is not None
    assert (running.holder.people, running.holder.devices) == (("mira",), ((0, "GPU-a"),))
    with pytest.raises(locks.BusyError):
        locks.hold(locks.path_of("GPU-a"))
    running.stop("cancelled")
    over(running, folder)
    assert finished(script)["exit_code"] == 0


def test_a_credential_that_is_denied_by_mistake_ends_nothing(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.reporting.DENIED_SECONDS", 0.01)
    script.once(LOG, problem(401, "unauthorized"), problem(403, "forbidden"))
    over(run("sh", "-c", "echo kept; exit 3"), folder)
    assert (log.text, finished(script)["exit_code"]) == (b"kept\n", 3)


def test_a_server_without_room_for_the_log_hears_of_the_end_and_gets_the_rest_later(
    script: Script, log: Log, run: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.log_sender.FULL_DISK_SECONDS", 0.1)
    script.say(LOG, (507, {}))
    running = run("sh", "-c", "echo kept; exit 3")
    script.wait_for(RELEASE)
    assert (finished(script)["exit_code"], finished(script)["log_size"]) == (3, 0)
    assert finished(script)["log_total"] > 0
    script.say(LOG, log)
    over(running, folder)
    assert log.text == b"kept\n"
