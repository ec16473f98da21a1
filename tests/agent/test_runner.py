"""A task from claim to release against a server that has bad days."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.server_side import CLAIM, FINISH, LOG, PATIENCE, RELEASE, STARTED, Log, finished, over
from tests.agent.wire import Call, Script, problem
from workers.agent.folder import AgentFolder
from workers.agent.reporting import Session
from workers.agent.runner import TaskRun


def test_a_task_is_claimed_started_reported_and_released(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    over(take("sh", "-c", "echo hello; exit 3"), folder)
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
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    over(take("true", workdir="/no/such/folder"), folder)
    assert script.made(STARTED) == []
    assert finished(script)["start_error"]["code"] == "workdir_missing"
    assert b"there is no folder /no/such/folder" in log.text
    assert len(script.made(RELEASE)) == 1


def test_the_log_goes_back_to_where_the_server_is(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    lost: list[bytes] = []

    def forgetful(call: Call) -> Any:
        """Take the first part, then have forgotten it."""
        lost.append(call.body)
        script.say(LOG, log)
        return {"size": len(call.body)}

    script.say(LOG, forgetful)
    over(take("sh", "-c", "echo one; sleep 0.6; echo two"), folder)
    assert lost
    assert log.text == b"one\ntwo\n"
    assert finished(script)["log_size"] == len(log.bytes)


@pytest.mark.parametrize("code", ["log_full", "log_malformed", "log_differs"])
def test_where_no_more_output_is_taken_the_task_goes_on(
    script: Script, take: Callable[..., TaskRun], folder: AgentFolder, code: str
) -> None:
    script.say(LOG, problem(409, code, size=5))
    over(take("sh", "-c", "echo x; exit 0"), folder)
    assert (finished(script)["exit_code"], finished(script)["log_size"]) == (0, 5)
    assert len(script.made(RELEASE)) == 1


def test_a_server_that_is_away_loses_nothing(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    for call in (STARTED, LOG, FINISH, RELEASE):
        script.once(call, (503, {}), (500, {}), (502, {}))
    over(take("sh", "-c", "echo kept; exit 3"), folder)
    assert log.text == b"kept\n"
    assert finished(script)["exit_code"] == 3
    assert len(script.made(RELEASE)) == 4


def test_a_report_under_an_epoch_that_is_over_waits_for_the_next(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder, session: Session
) -> None:
    script.say(FINISH, lambda call: {} if call.document["epoch"] == 2 else problem(409, "stale_epoch"))
    running = take("true")
    assert session.stale.wait(PATIENCE)
    session.renew(2)
    over(running, folder)
    assert [call.document["epoch"] for call in script.made(FINISH)] == [1, 2]
    assert script.made(RELEASE)[0].document["epoch"] == 2


def test_a_claim_that_is_refused_starts_nothing(
    script: Script, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.once(CLAIM, problem(409, "not_assigned"))
    over(take("true"), folder)
    assert [call.path for call in script.calls] == ["tasks/1/claim"]


def test_an_attempt_that_the_server_gave_up_is_killed_and_released(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.say(STARTED, problem(409, "stale_fence"))
    over(take("sleep", "600"), folder)
    assert script.made(FINISH) == []
    assert len(script.made(RELEASE)) == 1


def test_another_result_that_stands_already_is_left_standing(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    script.say(FINISH, problem(409, "already_finished"))
    over(take("true"), folder)
    assert len(script.made(RELEASE)) == 1


def test_a_task_waits_until_all_of_its_gang_are_ready(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.barrier.BARRIER_SECONDS", 0.01)
    script.once(CLAIM, *(lambda call: script.answers[CLAIM] | {"go": False} for _ in range(3)))
    over(take("true"), folder)
    assert len(script.made(CLAIM)) == 4
    assert len(script.made(STARTED)) == 1


def test_cancelling_ends_the_command_and_reports_the_signal(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder
) -> None:
    running = take("sleep", "600")
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
    take: Callable[..., TaskRun], log: Log, folder: AgentFolder, caplog: pytest.LogCaptureFixture,
    argv: tuple[str, ...], more: dict[str, Any], words: str,
) -> None:  # fmt: skip
    caplog.set_level("INFO", logger="workers.agent")
    over(take(*argv, **more), folder)
    (said,) = [message for message in caplog.messages if "ended" in message]
    assert said.startswith(f"task 1 (j-1): ended, {words}")


def test_and_that_it_was_cancelled(
    script: Script, take: Callable[..., TaskRun], log: Log, folder: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="workers.agent")
    running = take("sleep", "600")
    script.wait_for(STARTED)
    running.stop("cancelled")
    over(running, folder)
    assert "task 1 (j-1): ended, signal 15 (cancelled)" in caplog.messages


def test_a_task_cancelled_before_its_start_never_runs(
    script: Script, log: Log, take: Callable[..., TaskRun], folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.barrier.BARRIER_SECONDS", 0.01)
    running = take("true", go=False)
    script.wait_for(CLAIM, 2)
    running.stop("cancelled")
    over(running, folder)
    assert script.made(STARTED) == []
    assert finished(script)["signal"] == 15
