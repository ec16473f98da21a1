"""What the agent's tests share: a scripted server, and tasks on this very host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agent.server_side import A_CLAIM, CLAIM, LOG, PATIENCE, Log
from tests.agent.shimmed import Shimmed
from tests.agent.wire import Script, serving
from workers.agent.client import AgentClient, Assignment, Claim
from workers.agent.command import Environment
from workers.agent.folder import AgentFolder
from workers.agent.preparing import Host
from workers.agent.reporting import Session
from workers.agent.runner import TaskRun
from workers.agent.shim import locks
from workers.agent.transport import Retry, Transport

Claims = Callable[..., Claim]
# Nobody but root can start a process as another user: what is tried with two of them is for root alone.
collect_ignore = [] if os.geteuid() == 0 else ["test_other_accounts.py"]
HERE = Environment(name="default", python=Path(sys.executable), path=str(Path(sys.executable).parent))


@pytest.fixture
def script() -> Iterator[Script]:
    with serving(Script()) as running:
        yield running


@pytest.fixture
def transport(script: Script) -> Iterator[Transport]:
    with closing(Transport(script.url, "glw_secret")) as made:
        yield made


@pytest.fixture
def session(transport: Transport) -> Iterator[Session]:
    made = Session(AgentClient(transport))
    made.renew(1)
    yield made
    made.end()


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    return AgentFolder(tmp_path / "agent")


@pytest.fixture(autouse=True)
def own_locks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests beside this one have devices of the same names."""
    monkeypatch.setenv(locks.FOLDER, str(tmp_path_factory.mktemp("locks")))


@pytest.fixture
def host(session: Session, folder: AgentFolder) -> Host:
    session.retry = Retry(session.ending.wait, base=0.01, cap=0.02)
    return Host(session=session, folder=folder, environments={"default": HERE})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Shimmed]]:
    """Starts a command under a shim of its own: its words (none: a hold), and what else its plan says."""
    runs: list[Shimmed] = []

    def make(*argv: str, **plan: Any) -> Shimmed:
        runs.append(Shimmed(tmp_path / f"task-{len(runs)}", argv or None, **plan))
        return runs[-1]

    yield make
    for each in runs:
        each.end()


@pytest.fixture
def a_claim(tmp_path: Path) -> Callable[..., Claim]:
    """A task's claim: an argv, and whatever else is said."""

    def make(*argv: str, **more: Any) -> Claim:
        known: dict[str, Any] = {
            "task": 1, "fence": 7, "job_id": "j-1", "attempt": 1, "rank": 0, "go": True, "workdir": None, "env": {},
            "secrets": {}, "environment": "default", "devices": (), "timeout_s": None,
        }  # fmt: skip
        return Claim(argv=argv, **(known | more))

    return make


@pytest.fixture
def log(script: Script) -> Log:
    made = Log()
    script.say(LOG, made)
    return made


@pytest.fixture
def take(script: Script, session: Session, host: Host) -> Iterator[Callable[..., TaskRun]]:
    """Takes on one task, as the server claims it: its words, and what else is said of it."""
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
