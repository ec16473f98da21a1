"""The bodies of the agents' calls about tasks, and their answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from workers.wire import Answer, Body, Count, ExitCode, Id, Millis, Prose

Code = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
"""The stable code of a cause."""
Port = Annotated[int, Field(ge=1, le=65_535)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
HostPath = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]


class FencedIn(Body):
    """What every report about a task carries."""

    fence: Id
    epoch: Count


class ClaimIn(FencedIn):
    """A claim. `master_port`: of rank 0 of a gang, a port that its agent found free."""

    master_port: Port | None = None


class DeclineIn(FencedIn):
    """Why the task could not be started, through no fault of its job."""

    code: Code
    detail: Prose


class ClaimDeviceOut(Answer):
    """A device that the task may use."""

    index: int
    uuid: str | None


class GangOut(Answer):
    """What a member of a gang is told of the others; address and port with `go` only."""

    num_workers: int
    procs_per_worker: int
    node_rank: int
    launcher: str | None
    comm_backend: str | None
    master_address: str | None
    master_port: int | None


class FilesOut(Answer):
    """The files that the task runs with."""

    sha256: str
    size: int


class HoldOut(Answer):
    """For how many seconds devices are held, until when (null: it has not begun), for which account of the host."""

    seconds: float
    until: str | None
    user: str


class ClaimOut(Answer):
    """Everything that is needed to run the task. It may start only if `go`.

    `lease_seconds`: it ends when its host is out of contact for longer; null: it goes on. `run_as`: the submitter's
    account on the hosts; null: none is known.
    """

    task: int
    fence: int
    job_id: str
    attempt: int
    rank: int
    go: bool
    argv: list[str]
    workdir: str | None
    env: dict[str, str]
    secrets: dict[str, str]
    environment: str
    devices: list[ClaimDeviceOut]
    timeout_s: int | None
    simulated: bool
    lease_seconds: int | None
    gang: GangOut | None
    files: FilesOut | None
    hold: HoldOut | None
    run_as: str | None
    submitter: str
    outputs_limit_bytes: int


class StartedIn(FencedIn):
    """The process and the directory it runs in."""

    pid: Count
    workdir: HostPath


class TaskOut(Answer):
    """Where the task stands now."""

    task: int
    state: str


class LogOut(Answer):
    """Bytes of frames that are stored."""

    size: int


class CauseIn(Body):
    """Why the command was never started, or why the agent ended it unasked."""

    code: Code
    detail: Prose


class FinishIn(FencedIn):
    """How the task ended: an exit code, a signal, or an error before it began.

    `log_size` bytes of its log were delivered, with this hash, of `log_total` that it wrote.
    """

    exit_code: ExitCode | None = None
    signal: Annotated[int, Field(ge=1, le=128)] | None = None
    duration_ms: Millis
    log_size: Count
    log_total: Count | None = None
    log_sha256: Sha256 = ""
    outputs_path: HostPath | None = None
    start_error: CauseIn | None = None
    ended_by: CauseIn | None = None
    timed_out: bool = False

    @model_validator(mode="after")
    def says_how(self) -> FinishIn:
        """Refuse a report that tells no end."""
        if self.exit_code is None and self.signal is None and self.start_error is None:
            raise ValueError("say how it ended: exit_code, signal or start_error")
        return self
