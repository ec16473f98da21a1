"""The calls of the agent protocol, one method each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
from workers.agent.transport import ANSWER_SECONDS, ONCE, Retry, Transport, UnreachableError, retry_after

__all__ = [
    "AgentClient", "Assignment", "Cause", "Claim", "Document", "Finish", "Registered", "Result", "Running", "Wanted",
    "registration",
]  # fmt: skip

T = TypeVar("T")
ROOT = "/api/agent/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """A task's end, and its log: how much the server has of it, with its SHA-256, and how much there is (bytes)."""

    result: Result
    log_size: int
    log_sha256: str | None = None
    log_total: int | None = None
    outputs_path: str | None = None


class AgentClient:
    """Speaks for one worker, or for a fleet of simulated ones. Errors are those of the transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enroll(self, workers: Iterable[Document], machine: str, *, retry: Retry = ONCE) -> str:
        """The workers' credential, for an enrolment token."""
        body = {"workers": list(workers), "machine": machine, "protocol": list(PROTOCOL), "agent_version": VERSION}
        return self._post("enroll", body, retry, lambda answer: str(answer["credential"]))

    def register(
        self, worker: str, boot_id: str, facts: Document, running: Iterable[Running], *, retry: Retry = ONCE,
        **more: object,
    ) -> Registered:  # fmt: skip
        """Begin, or go on with, this worker's session.

        `more`: `unknown` (why what is missing in the facts is), `instance` (this process), `host` (this machine).
        """
        body = {**registration(worker, boot_id, facts, running), **more}
        return self._post("register", body, retry, messages.registered)

    def heartbeat(self, beat: Document) -> Wanted:
        """Say that the worker is alive, and hear what is wanted."""
        return self._post("heartbeat", beat, ONCE, messages.wanted)

    def assignments(self, worker: str | None = None, wait: float = 0.0) -> Wanted:
        """What is wanted of this worker, or of all that the credential speaks for.

        The server may hold its answer back for `wait` seconds, until there is something to do.
        """
        params: dict[str, str | int] = {"worker": worker} if worker else {}
        if wait:
            params["wait"] = int(wait)
        answer = self._transport.call(
            "GET", f"{ROOT}/assignments", params=params or None, answer_seconds=ANSWER_SECONDS + wait
        )  # fmt: skip
        if answer.status_code == 204:
            return replace(NOTHING, next_in=retry_after(answer) or 0.0)
        return _read(answer, messages.wanted)

    def claim(self, task: int, fence: int, epoch: int, master_port: int | None = None, *, retry: Retry) -> Claim:
        """Take a task on: from here on it is this agent's to report. `master_port`: of a gang's first member."""
        body = {"fence": fence, "epoch": epoch} | ({"master_port": master_port} if master_port else {})
        return self._post(f"tasks/{task}/claim", body, retry, lambda answer: messages.claim(answer, task, fence))

    def decline(self, task: int, fence: int, epoch: int, why: Cause, *, retry: Retry) -> None:
        """Give a task back that has not started, through no fault of its job."""
        body = {"fence": fence, "epoch": epoch, "code": why.code, "detail": why.detail}
        self._post(f"tasks/{task}/decline", body, retry, _nothing)

    def rotate(self, epoch: int) -> str:
        """A new credential. The present one works until the new one is first used."""
        return self._post("credential/rotate", {"epoch": epoch}, ONCE, lambda answer: str(answer["credential"]))

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

    def files(self, task: int, fence: int, offset: int, *, retry: Retry) -> bytes:
        """Some bytes of the files that a claimed task brings, from `offset`."""
        params = {"fence": fence, "offset": offset}
        return self._transport.call("GET", f"{ROOT}/tasks/{task}/files", params=params, retry=retry).content

    def put_output(
        self, task: int, fence: int, path: str, data: bytes, *, offset: int, size: int, retry: Retry
    ) -> int:  # fmt: skip
        """Hand over part of an output of `size` bytes in all; the answer is how much the server has of it now."""
        answer = self._transport.call(
            "PUT", f"{ROOT}/tasks/{task}/outputs",
            params={"path": path, "offset": offset, "size": size, "fence": fence}, content=data,
            headers={"Content-Type": "application/octet-stream"}, retry=retry,
        )  # fmt: skip
        return _read(answer, lambda body: int(body["size"]))

    def outputs_done(self, task: int, fence: int, note: str, *, retry: Retry) -> None:
        """All of its outputs that will be handed over are there; `note` says what will not, and why."""
        self._post(f"tasks/{task}/outputs/done", {"fence": fence, "note": note}, retry, _nothing)

    def finish(self, task: int, fence: int, epoch: int, report: Finish, *, retry: Retry) -> None:
        """How the task ended. The same report again is no error."""
        result = report.result
        body: dict[str, Any] = {
            "fence": fence, "epoch": epoch, "exit_code": result.exit_code, "signal": result.signal,
            "duration_ms": result.duration_ms, "timed_out": result.timed_out,
            "start_error": messages.cause(result.start_error), "ended_by": messages.cause(result.ended_by),
            "log_size": report.log_size,
        }  # fmt: skip
        more = {
            "log_sha256": report.log_sha256, "log_total": report.log_total, "outputs_path": report.outputs_path,
        }  # fmt: skip
        body |= {name: value for name, value in more.items() if value is not None}
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise UnreachableError(f"{response.url} answered, but not as this protocol has it") from error


def registration(worker: str, boot_id: str, facts: Document, running: Iterable[Running]) -> Document:
    """The body with which one worker registers."""
    return {
        "worker": worker, "boot_id": boot_id, "protocol": list(PROTOCOL), "facts": facts, "running": list(running),
    }  # fmt: skip


def _nothing(answer: Document) -> None:
    """The status says it all."""
