"""The bodies of the agents' calls and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from workers.wire import Answer, Body, Count, ExitCode, Id, Line, Millis, Name, ProblemOut, Prose, WorkerName

MOST_ENROLLED = 2_000
MOST_REGISTERED = 200
MOST_HEARD = 2_000
MOST_TASKS = 10_000
MOST_DEVICES = 4_096
MOST_PROCESSES = 256
MOST_UNKNOWN = 500

Code = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
"""The stable code of a cause."""
Port = Annotated[int, Field(ge=1, le=65_535)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
Protocols = Annotated[list[Annotated[int, Field(ge=1, le=1_000)]], Field(min_length=1, max_length=20)]
HostPath = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]


class NewcomerIn(Body):
    """A worker that asks to be let in."""

    name: WorkerName
    origin: Literal["local", "remote", "cloud"]
    simulated: bool = False


class EnrollIn(Body):
    """Who asks to be let in; more than one only if all are simulated."""

    workers: Annotated[list[NewcomerIn], Field(min_length=1, max_length=MOST_ENROLLED)]
    machine: Annotated[Line, Field(max_length=200)]
    protocol: Protocols
    agent_version: Annotated[Line, Field(max_length=50)] = ""


class EnrollOut(Answer):
    """The credential, shown this once, and the workers that it speaks for."""

    credential: str
    workers: list[str]


class RunningIn(Body):
    """A task that the agent holds."""

    task: Id
    fence: Id


RunningList = Annotated[list[RunningIn], Field(max_length=MOST_TASKS)]


class HostIn(Body):
    """What people need to reach the host, and as whom its jobs run."""

    hostname: Annotated[Line, Field(max_length=253)] = ""
    user: Annotated[Line, Field(max_length=100)] = ""
    uid: Count | None = None
    run_as_submitter: bool = False
    address: Annotated[Line, Field(max_length=253)] | None = None


class RegisterIn(Body):
    """What a worker is, which boot of it speaks, and what it still runs. `facts` is a worker document.

    `instance` names one run of its agent; `seq` is counted together with its heartbeats.

    `unknown`: why what is missing in the facts is, by its place there.
    """

    worker: Name
    boot_id: Annotated[Name, Field(max_length=100)]
    protocol: Protocols
    facts: dict[str, Any]
    instance: Annotated[Line, Field(max_length=64)] = ""
    seq: Count | None = None
    host: HostIn | None = None
    running: RunningList = []
    unknown: Annotated[dict[Line, Line], Field(max_length=MOST_UNKNOWN)] = {}


class GrantedOut(Answer):
    """So many seconds a task may go on, counted from before the call was sent that this answers."""

    task: int
    seconds: float


class RegisterOut(Answer):
    """The session's epoch; when to call next (seconds); and what becomes of what was reported running.

    `leases`: of the tasks that end when their host is out of contact for longer; the others have none. A lease is
    extended, never shortened. `holds`: how long devices are still held for people.
    """

    epoch: int
    next_in: float
    adopt: list[int] = []
    kill: list[int] = []
    forget: list[int] = []
    leases: list[GrantedOut] = []
    holds: list[GrantedOut] = []


class ProcessIn(Body):
    """A process on a device: whose it is, its memory in bytes, and the task that it belongs to."""

    pid: Count
    user: Annotated[Line, Field(max_length=100)] | None = None
    memory: Count | None = None
    task: Id | None = None


class StrayIn(Body):
    """A task's process on a device that the task does not hold."""

    device: Annotated[int, Field(ge=0, le=65_535)]
    pid: Count
    task: Id


class DeviceIn(Body):
    """How one device does; null is unknown. Sizes are bytes, utilisation is per cent.

    A device is known by its `uuid`, and by its `index` only where it has none.
    """

    index: Annotated[int, Field(ge=0, le=65_535)]
    uuid: Line | None = None
    healthy: bool | None = None
    health_note: Line = ""
    utilisation: Annotated[int, Field(ge=0, le=100)] | None = None
    memory_used: Count | None = None
    foreign_memory: Count | None = None
    processes: Annotated[list[ProcessIn], Field(max_length=MOST_PROCESSES)] = []


class BeatIn(Body):
    """One worker's heartbeat. `seq` grows with each; `leaving`: it goes away in order.

    A beat of another `instance` than registered last is an old one.
    """

    worker: Name
    epoch: Count
    seq: Count
    instance: Annotated[Line, Field(max_length=64)] = ""
    running: RunningList = []
    leaving: bool = False


class HeartbeatIn(BeatIn):
    """A heartbeat with the readings of the worker's devices."""

    devices: Annotated[list[DeviceIn], Field(max_length=MOST_DEVICES)] = []
    strays: Annotated[list[StrayIn], Field(max_length=MOST_PROCESSES)] = []


class AssignmentOut(Answer):
    """A task to claim."""

    task: int
    fence: int
    job_id: str
    worker: str


class OrdersOut(Answer):
    """What to claim and what to cancel."""

    assignments: list[AssignmentOut]
    cancel: list[int]


class HeartbeatOut(OrdersOut):
    """The same, what to kill because it is not the worker's any more, and when to call next (seconds).

    `leases` and `holds` as with a registration.
    """

    kill: list[int]
    leases: list[GrantedOut]
    holds: list[GrantedOut]
    next_in: float
    drain: bool
    rotate: bool
    """The agent shall replace its credential."""


class FleetRegisterIn(Body):
    """Registrations of workers that share a credential."""

    registrations: Annotated[list[RegisterIn], Field(min_length=1, max_length=MOST_REGISTERED)]


class FleetAnswerOut(Answer):
    """One registration's answer: the epoch, or the problem."""

    worker: str
    epoch: int | None = None
    problem: ProblemOut | None = None
    adopt: list[int] = []
    kill: list[int] = []
    forget: list[int] = []


class FleetRegisterOut(Answer):
    """In the order of the registrations."""

    answers: list[FleetAnswerOut]
    next_in: float


class FleetHeartbeatIn(Body):
    """Heartbeats of workers that share a credential."""

    heartbeats: Annotated[list[BeatIn], Field(min_length=1, max_length=MOST_HEARD)]


class FleetHeartbeatOut(OrdersOut):
    """As for one worker; `stale` are to register again, `drain` are to get no more work."""

    kill: list[int]
    leases: list[GrantedOut]
    holds: list[GrantedOut]
    stale: list[str]
    drain: list[str]
    next_in: float


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
