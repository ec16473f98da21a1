"""A task's processes: how they end, and that none of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.agent.test_spool import texts
from workers.agent.client import Result
from workers.agent.command import TAG
from workers.agent.processes import TaskProcess, members
from workers.agent.spool import Spool

PATIENCE = 30.0


class Run:
    """A command under way."""

    def __init__(self, spool: Spool, argv: tuple[str, ...], **more: Any) -> None:
        self.spool = spool
        self.tag = uuid.uuid4().hex
        self.results: list[Result] = []
        popen = subprocess.Popen(
            argv, env={"PATH": os.defpath, TAG: self.tag}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.process = TaskProcess(
            popen, spool, self.tag, **{"timeout_s": None, "on_end": self.results.append, **more}
        )  # fmt: skip

    def after_it_says(self, word: bytes) -> Run:
        """Wait until the command has written this."""
        seen = 0
        while word not in self.output:
            assert self.spool.wait_beyond(seen), f"it ended without saying {word!r}"
            seen = self.spool.size
        return self

    def ended(self) -> Result:
        """How it ended; nothing of it is left then."""
        assert self.process.gone.wait(PATIENCE)
        assert members(self.tag, self.process.pid) == []
        (result,) = self.results
        assert result == self.process.result
        return result

    @property
    def output(self) -> bytes:
        kept = b""
        while len(kept) < self.spool.size:
            kept += self.spool.chunk(len(kept))
        return b"".join(text for _, text in texts(kept))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    with closing(Spool(tmp_path / "log")) as spool:
        runs: list[Run] = []

        def make(*argv: str, **more: Any) -> Run:
            runs.append(Run(spool, argv, **more))
            return runs[-1]

        yield make
        for each in runs:
            each.process.stop("the test is over", 0.0)
            assert each.process.gone.wait(PATIENCE)


def sh(line: str) -> tuple[str, ...]:
    return "sh", "-c", line


def python(*lines: str) -> tuple[str, ...]:
    return sys.executable, "-c", "\n".join(lines)


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_the_commands_own(run: Callable[..., Run], code: int) -> None:
    result = run(*sh(f"exit {code}")).ended()
    assert (result.exit_code, result.signal, result.timed_out) == (code, None, False)


def test_a_command_that_is_killed_ends_by_the_signal(run: Callable[..., Run]) -> None:
    result = run(*sh("kill -9 $$")).ended()
    assert (result.exit_code, result.signal) == (None, signal.SIGKILL)


def test_both_streams_are_kept_apart(run: Callable[..., Run]) -> None:
    running = run(*sh("echo out; echo err >&2; printf tail"))
    running.ended()
    streams = {b"o": b"", b"e": b""}
    for stream, text in texts(running.spool.chunk(0)):
        streams[stream] += text
    assert streams == {b"o": b"out\ntail", b"e": b"err\n"}


def test_a_lot_of_output_is_whole(run: Callable[..., Run]) -> None:
    running = run(*python("import sys", "sys.stdout.buffer.write(bytes(range(256)) * 4096)"))
    running.ended()
    assert running.output == bytes(range(256)) * 4096


def test_stopping_asks_first(run: Callable[..., Run]) -> None:
    running = run(*sh("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done")).after_it_says(
        b"ready"
    )
    running.process.stop("cancelled", 30.0)
    assert running.ended().exit_code == 5
    assert b"gpulayer: cancelled\n" in running.output
    assert b"asked" in running.output


def test_what_does_not_end_when_asked_is_killed(run: Callable[..., Run]) -> None:
    running = run(*sh("trap '' TERM; echo ready; while :; do sleep 0.05; done")).after_it_says(b"ready")
    running.process.stop("cancelled", 0.2)
    assert running.ended().signal == signal.SIGKILL


def test_only_the_first_stop_counts(run: Callable[..., Run]) -> None:
    running = run(*sh("echo ready; sleep 600")).after_it_says(b"ready")
    running.process.stop("first", 30.0)
    running.process.stop("second", 30.0)
    running.ended()
    assert b"first" in running.output
    assert b"second" not in running.output


def test_a_command_that_takes_too_long_times_out(run: Callable[..., Run]) -> None:
    running = run("sleep", "600", timeout_s=0.1)
    result = running.ended()
    assert (result.timed_out, result.signal) == (True, signal.SIGTERM)
    assert b"stopped after its time limit of 0.1 s" in running.output


def test_a_command_that_ends_in_time_does_not_time_out(run: Callable[..., Run]) -> None:
    assert run("true", timeout_s=600).ended() == Result(exit_code=0, duration_ms=pytest.approx(0, abs=20_000))


@pytest.mark.parametrize("child", [
    pytest.param("sleep 600 &", id="a child in the background"),
    pytest.param("setsid sleep 600 &", id="a child in a session of its own"),
    pytest.param("(trap '' TERM; sleep 600) & sleep 0.1;", id="a child that ignores the question"),
    pytest.param("env -i sleep 600 &", id="a child that has dropped its environment"),
])  # fmt: skip
def test_what_a_command_leaves_behind_is_ended_before_its_devices_are_free(run: Callable[..., Run], child: str) -> None:
    running = run(*sh(f"{child} echo bye; exit 4"))
    assert running.ended().exit_code == 4
    assert b"bye" in running.output


def test_cancelling_reaches_a_child_in_a_session_of_its_own(run: Callable[..., Run]) -> None:
    running = run(*sh("setsid sleep 600 & echo $!; wait")).after_it_says(b"\n")
    child = psutil.Process(int(running.output.split()[0]))
    running.process.stop("cancelled", 30.0)
    running.ended()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_the_time_it_took_is_the_commands_own(run: Callable[..., Run]) -> None:
    assert run("sleep", "0.3").ended().duration_ms >= 250
