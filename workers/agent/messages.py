"""What agent and server say to each other, as values. What a reply must not be is refused here, before it is used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

Document = Mapping[str, Any]
JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""It becomes part of a folder's name."""
MOST_SECONDS = 10 * 365 * 24 * 3600.0


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
class Lease:
    """For how many seconds from before the call a task may go on without another word of the server."""

    task: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the server wants done now. `next_in` (seconds), `leases` and `drain` come with a heartbeat only."""

    assignments: tuple[Assignment, ...]
    cancel: tuple[int, ...]
    kill: tuple[int, ...] = ()
    stale: tuple[str, ...] = ()
    leases: tuple[Lease, ...] = ()
    holds: tuple[Lease, ...] = ()
    """How long holds last from now on."""
    next_in: float = 0.0
    drain: bool = False
    rotate: bool = False
    """The credential shall be replaced by a new one."""

    @property
    def is_news(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.assignments or self.cancel or self.kill)


NOTHING = Wanted(assignments=(), cancel=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The epoch of this session, and what the server says of the tasks that were reported running."""

    epoch: int
    next_in: float
    adopt: tuple[int, ...] = ()
    kill: tuple[int, ...] = ()
    forget: tuple[int, ...] = ()
    leases: tuple[Lease, ...] = ()
    holds: tuple[Lease, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A task's place among those of its job; address and port are known once all are ready."""

    num_workers: int
    procs_per_worker: int
    node_rank: int
    launcher: str | None = None
    comm_backend: str | None = None
    master_address: str | None = None
    master_port: int | None = None


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
    lease_seconds: float | None = None
    gang: Gang | None = None
    files: Document | None = None
    hold_seconds: float | None = None
    """Set for a hold: nothing is run, devices are kept so long."""
    hold_user: str | None = None
    run_as: str | None = None
    submitter: str = ""
    outputs_limit_bytes: int | None = None


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


def registered(answer: Document) -> Registered:
    """The answer to `register`."""
    return Registered(
        epoch=int(answer["epoch"]), next_in=_seconds(answer["next_in"]), adopt=_ids(answer.get("adopt")),
        kill=_ids(answer.get("kill")), forget=_ids(answer.get("forget")), leases=_leases(answer.get("leases")),
        holds=_leases(answer.get("holds")),
    )  # fmt: skip


def wanted(answer: Document) -> Wanted:
    """The answer to a heartbeat or to `assignments`."""
    return Wanted(
        assignments=tuple(_assignment(each) for each in answer.get("assignments") or ()),
        cancel=_ids(answer.get("cancel")), kill=_ids(answer.get("kill")), stale=tuple(answer.get("stale") or ()),
        leases=_leases(answer.get("leases")), holds=_leases(answer.get("holds")),
        next_in=_seconds(answer.get("next_in") or 0.0), drain=bool(answer.get("drain")),
        rotate=bool(answer.get("rotate")),
    )  # fmt: skip


def claim(answer: Document, task: int, fence: int) -> Claim:
    """The answer to `claim` of this task. Raises ValueError for that of another."""
    if (answer["task"], answer["fence"]) != (task, fence):
        raise ValueError("this is another task")
    hold = answer.get("hold") or {}
    return Claim(
        task=int(answer["task"]), fence=int(answer["fence"]), job_id=_job_id(answer["job_id"]),
        attempt=int(answer["attempt"]), rank=int(answer["rank"]), go=bool(answer["go"]),
        argv=_texts(answer.get("argv") or ()), workdir=_text(answer.get("workdir")),
        env=_variables(answer.get("env")), secrets=_variables(answer.get("secrets")),
        environment=_text(answer.get("environment")) or "default",
        devices=tuple((int(each["index"]), _text(each.get("uuid"))) for each in answer.get("devices") or ()),
        timeout_s=_number(answer.get("timeout_s")), lease_seconds=_number(answer.get("lease_seconds")),
        gang=_gang(answer.get("gang")), files=answer.get("files"), hold_seconds=_number(hold.get("seconds")),
        hold_user=_text(hold.get("user")), run_as=_text(answer.get("run_as")),
        submitter=str(answer.get("submitter") or ""), outputs_limit_bytes=_number(answer.get("outputs_limit_bytes")),
    )  # fmt: skip


def cause(value: Cause | None) -> Document | None:
    """As it is sent and kept."""
    return {"code": value.code, "detail": value.detail} if value else None


def _assignment(each: Document) -> Assignment:
    return Assignment(
        task=int(each["task"]), fence=int(each["fence"]), job_id=_job_id(each["job_id"]),
        worker=str(each.get("worker", "")),
    )  # fmt: skip


def _gang(answer: Document | None) -> Gang | None:
    if answer is None:
        return None
    return Gang(
        num_workers=int(answer["num_workers"]), procs_per_worker=int(answer["procs_per_worker"]),
        node_rank=int(answer["node_rank"]), launcher=_text(answer.get("launcher")),
        comm_backend=_text(answer.get("comm_backend")), master_address=_text(answer.get("master_address")),
        master_port=_number(answer.get("master_port")),
    )  # fmt: skip


def _leases(value: Iterable[Document] | None) -> tuple[Lease, ...]:
    return tuple(
        Lease(task=int(each["task"]), seconds=_seconds(each["seconds"]))
        for each in value or ()
        if each["seconds"] is not None
    )


def _ids(value: Iterable[int] | None) -> tuple[int, ...]:
    return tuple(int(each) for each in value or ())


def _job_id(value: object) -> str:
    if not isinstance(value, str) or not JOB_ID.fullmatch(value):
        raise ValueError("this is no job's id")
    return value


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("text was expected")
    return value


def _texts(value: Iterable[object]) -> tuple[str, ...]:
    return tuple(_text(each) or "" for each in value)


def _variables(value: Mapping[str, object] | None) -> dict[str, str]:
    return {name: _text(each) or "" for name, each in (value or {}).items()}


def _seconds(value: Any) -> float:
    seconds = float(_number(value))
    if not 0 <= seconds <= MOST_SECONDS:
        raise ValueError("a number of seconds was expected")
    return seconds


def _number(value: Any) -> Any:
    """A number as it is. Neither truth nor text counts as one."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError("a number was expected")
    return value
