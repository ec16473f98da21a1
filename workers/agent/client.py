"""The calls of the agent protocol, one method each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar

import httpx

from workers.agent import PROTOCOL, VERSION
from workers.agent.transport import ONCE, Retry, Transport, UnreachableError

T = TypeVar("T")
ROOT = "/api/agent/v1"
Document = Mapping[str, Any]


class Running(TypedDict):
    """A task that the agent holds."""

    task: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A task that the server wants run; `worker` is empty where there is only one."""

    task: int
    fence: int
    job_id: str
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the server wants done now. `next_in` (seconds) and `drain` come with a heartbeat only."""

    assignments: tuple[Assignment, ...]
    cancel: tuple[int, ...]
    kill: tuple[int, ...] = ()
    stale: tuple[str, ...] = ()
    next_in: float = 0.0
    drain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The epoch of this session, and what the server says of the tasks that were reported running."""

    epoch: int
    next_in: float
    adopt: tuple[int, ...] = ()
    kill: tuple[int, ...] = ()
    forget: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Everything that is needed to run one task. `go` is false while others of its gang are not ready."""

    task: int
    fence: int
    job_id: str
    attempt: int
    rank: int
    go: bool
    argv: tuple[str, ...]
    workdir: str | None
    env: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, str] = field(repr=False)
    environment: str
    devices: tuple[tuple[int, str | None], ...]
    """(index, uuid) pairs."""
    timeout_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a task's command was never started, or why its agent ended it without being asked to."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a task ended: an exit code, a signal, or an error before it began."""

    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    timed_out: bool = False
    start_error: Cause | None = None
    ended_by: Cause | None = None
    """Set where neither the command nor the server brought this about."""


class AgentClient:
    """Speaks for one worker, or for a fleet of simulated ones. Errors are those of the transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enroll(self, workers: Iterable[Document], machine: str, *, retry: Retry = ONCE) -> str:
        """The workers' credential, for an enrolment token."""
        body = {"workers": list(workers), "machine": machine, "protocol": list(PROTOCOL), "agent_version": VERSION}
        return self._post("enroll", body, retry, lambda answer: str(answer["credential"]))

    def register(
        self, worker: str, boot_id: str, facts: Document, running: Iterable[Running], *, retry: Retry = ONCE
    ) -> Registered:
        """Begin, or go on with, this worker's session."""
        return self._post("register", registration(worker, boot_id, facts, running), retry, _registered)

    def heartbeat(self, beat: Document) -> Wanted:
        """Say that the worker is alive, and hear what is wanted."""
        return self._post("heartbeat", beat, ONCE, _wanted)

    def assignments(self, worker: str | None = None) -> Wanted:
        """What is wanted of this worker, or of all that the credential speaks for."""
        params = {"worker": worker} if worker else None
        return _read(self._transport.call("GET", f"{ROOT}/assignments", params=params), _wanted)

    def claim(self, task: int, fence: int, epoch: int, *, retry: Retry) -> Claim:
        """Take a task on: from here on it is this agent's to report."""
        return self._post(f"tasks/{task}/claim", {"fence": fence, "epoch": epoch}, retry, _claim)

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
            "start_error": _cause(result.start_error), "ended_by": _cause(result.ended_by),
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
        return self._post("fleet/heartbeat", {"heartbeats": beats}, ONCE, _wanted)

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


def _registered(answer: Document) -> Registered:
    return Registered(
        epoch=int(answer["epoch"]), next_in=float(answer["next_in"]), adopt=_ids(answer.get("adopt")),
        kill=_ids(answer.get("kill")), forget=_ids(answer.get("forget")),
    )  # fmt: skip


def _cause(cause: Cause | None) -> Document | None:
    return {"code": cause.code, "detail": cause.detail} if cause else None


def _nothing(answer: Document) -> None:
    """The status says it all."""


def _wanted(answer: Document) -> Wanted:
    return Wanted(
        assignments=tuple(_assignment(each) for each in answer.get("assignments") or ()),
        cancel=_ids(answer.get("cancel")),
        kill=_ids(answer.get("kill")),
        stale=tuple(answer.get("stale") or ()),
        next_in=float(answer.get("next_in") or 0.0),
        drain=bool(answer.get("drain")),
    )


def _assignment(each: Document) -> Assignment:
    return Assignment(
        task=int(each["task"]), fence=int(each["fence"]), job_id=str(each["job_id"]), worker=str(each.get("worker", ""))
    )


def _claim(answer: Document) -> Claim:
    return Claim(
        task=int(answer["task"]), fence=int(answer["fence"]), job_id=str(answer["job_id"]),
        attempt=int(answer["attempt"]), rank=int(answer["rank"]), go=bool(answer["go"]),
        argv=tuple(answer["argv"]), workdir=answer.get("workdir"), env=answer.get("env") or {},
        secrets=answer.get("secrets") or {}, environment=answer.get("environment") or "default",
        devices=tuple((int(each["index"]), each.get("uuid")) for each in answer.get("devices") or ()),
        timeout_s=answer.get("timeout_s"),
    )  # fmt: skip


def _ids(value: Iterable[int] | None) -> tuple[int, ...]:
    return tuple(int(each) for each in value or ())
