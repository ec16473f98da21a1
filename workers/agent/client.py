"""The calls of the agent protocol, one method each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import httpx

from workers.agent import PROTOCOL, VERSION, messages
from workers.agent.messages import (
    NOTHING,
    Assignment,
    Cause,
    Claim,
    Document,
    Registered,
    Result,
    Running,
    Wanted,
)
from workers.agent.transport import ANSWER_SECONDS, ONCE, Retry, Transport, UnreachableError

__all__ = [
    "AgentClient", "Assignment", "Cause", "Claim", "Document", "Finish", "Registered", "Result", "Running", "Wanted",
    "registration",
]  # fmt: skip

T = TypeVar("T")
ROOT = "/api/agent/v1"


class AgentClient:
    """Speaks for one worker, or for a fleet of simulated ones. Errors are those of the transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enroll(self, workers: Iterable[Document], machine: str, *, retry: Retry = ONCE) -> str:
        """The workers' credential, for an enrolment token."""
        body = {"workers": list(workers), "machine": machine, "protocol": list(PROTOCOL), "agent_version": VERSION}
        return self._post("enroll", body, retry, lambda answer: str(answer["credential"]))

    def register(
        self, worker: str, boot_id: str, facts: Document, running: Iterable[Running],
        unknown: Mapping[str, str] | None = None, *, retry: Retry = ONCE,
    ) -> Registered:  # fmt: skip
        """Begin, or go on with, this worker's session. `unknown`: why what is missing in the facts is."""
        body = {**registration(worker, boot_id, facts, running), "unknown": dict(unknown or {})}
        return self._post("register", body, retry, messages.registered)

    def heartbeat(self, beat: Document) -> Wanted:
        """Say that the worker is alive, and hear what is wanted."""
        return self._post("heartbeat", beat, ONCE, messages.wanted)

    def assignments(self, worker: str | None = None) -> Wanted:
        """What is wanted of this worker, or of all that the credential speaks for."""
        params = {"worker": worker} if worker else None
        return _read(self._transport.call("GET", f"{ROOT}/assignments", params=params), messages.wanted)

    def claim(self, task: int, fence: int, epoch: int, *, retry: Retry) -> Claim:
        """Take a task on: from here on it is this agent's to report."""
        return self._post(f"tasks/{task}/claim", {"fence": fence, "epoch": epoch}, retry, messages.claim)

    def started(self, task: int, fence: int, epoch: int, pid: int, workdir: str, *, retry: Retry) -> None:
        """The command runs."""
        body = {"fence": fence, "epoch": epoch, "pid": pid, "workdir": workdir}
        self._post(f"tasks/{task}/started", body, retry, _nothing)

    def put_log(self, task: int, fence: int, offset: int, frames: bytes, *, retry: Retry) -> int:
        """Hand over output; the answer is how much the server has of it now."""
        answer = self._transport.call(
            "PUT", f"{ROOT}/tasks/{task}/log", params={"offset": offset, "fence": fence}, content=frames,
            headers={"Content-Type": "application/octet-stream"}, retry=retry,
        )  # fmt: skip
        return _read(answer, lambda body: int(body["size"]))

    def finish(self, task: int, fence: int, epoch: int, result: Result, log_size: int, *, retry: Retry) -> None:
        """How the task ended. The same report again is no error."""
        body = {
            "fence": fence, "epoch": epoch, "exit_code": result.exit_code, "signal": result.signal,
            "duration_ms": result.duration_ms, "log_size": log_size, "timed_out": result.timed_out,
            "start_error": messages.cause(result.start_error), "ended_by": messages.cause(result.ended_by),
        }  # fmt: skip
        self._post(f"tasks/{task}/finish", body, retry, _nothing)

    def release(self, task: int, fence: int, epoch: int, *, retry: Retry) -> None:
        """The task's processes are gone: its devices are free."""
        self._post(f"tasks/{task}/release", {"fence": fence, "epoch": epoch}, retry, _nothing)

    def register_fleet(self, registrations: list[Document], *, retry: Retry) -> tuple[Document, ...]:
        """Register up to 200 simulated workers at once: for each `worker` its `epoch`, or a `problem`."""
        return self._post(
            "fleet/register", {"registrations": registrations}, retry, lambda answer: tuple(answer["answers"])
        )

    def heartbeat_fleet(self, beats: list[Document]) -> Wanted:
        """One heartbeat for each of up to 2,000 simulated workers."""
        return self._post("fleet/heartbeat", {"heartbeats": beats}, ONCE, messages.wanted)

    def _post(self, path: str, body: Document, retry: Retry, parse: Callable[[Document], T]) -> T:
        return _read(self._transport.call("POST", f"{ROOT}/{path}", document=body, retry=retry), parse)


def _read(response: httpx.Response, parse: Callable[[Document], T]) -> T:
    """Something between that answers for the server (a captive portal, another service) counts as no answer."""
    try:
        return parse(response.json() if response.content else {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreachableError(f"{response.url} answered, but not as this protocol has it") from error


def registration(worker: str, boot_id: str, facts: Document, running: Iterable[Running]) -> Document:
    """The body with which one worker registers."""
    return {
        "worker": worker, "boot_id": boot_id, "protocol": list(PROTOCOL), "facts": facts, "running": list(running),
    }  # fmt: skip


def _nothing(answer: Document) -> None:
    """The status says it all."""
