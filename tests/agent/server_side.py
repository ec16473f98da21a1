"""What the server's side of one task sees: its calls, its log, its end."""

from __future__ import annotations

from typing import Any

from tests.agent.shimmed import texts
from tests.agent.wire import Call, Script, problem
from workers.agent.folder import AgentFolder
from workers.agent.runner import TaskRun

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


def over(run: TaskRun, folder: AgentFolder) -> None:
    """The task is done with: nothing of it is left to report."""
    run.join(PATIENCE)
    assert not run.alive
    assert folder.left_tasks() == []


def finished(script: Script) -> dict[str, Any]:
    """The one finish report that was taken."""
    return dict(script.made(FINISH)[-1].document)
