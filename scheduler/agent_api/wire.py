"""The bodies of the agents' calls about sessions and fleets, and their answers; those about tasks: `wire_tasks`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from workers.wire import Answer, Body, Count, Id, Name, ProblemOut, Reported, WorkerName

MOST_ENROLLED = 2_000
MOST_REGISTERED = 200
MOST_HEARD = 2_000
MOST_TASKS = 10_000
MOST_DEVICES = 4_096
MOST_PROCESSES = 256
MOST_UNKNOWN = 500

Protocols = Annotated[list[Annotated[int, Field(ge=1, le=1_000)]], Field(min_length=1, max_length=20)]


class NewcomerIn(Body):
    """A worker that asks to be let in."""

    name: WorkerName
    origin: Literal["local", "remote", "cloud"]
    simulated: bool = False


class EnrollIn(Body):
    """Who asks to be let in; more than one only if all are simulated."""

    workers: Annotated[list[NewcomerIn], Field(min_length=1, max_length=MOST_ENROLLED)]
    machine: Annotated[Reported, Field(max_length=200)]
    protocol: Protocols
    agent_version: Annotated[Reported, Field(max_length=50)] = ""


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

    hostname: Annotated[Reported, Field(max_length=253)] = ""
    user: Annotated[Reported, Field(max_length=100)] = ""
    uid: Count | None = None
    run_as_submitter: bool = False
    address: Annotated[Reported, Field(max_length=253)] | None = None


class RegisterIn(Body):
    """What a worker is, which boot of it speaks, and what it still runs. `facts` is a worker document.

    `instance` names one run of its agent; `seq` is counted together with its heartbeats.

    `unknown`: why what is missing in the facts is, by its place there.
    """

    worker: Name
    boot_id: Annotated[Name, Field(max_length=100)]
    protocol: Protocols
    facts: dict[str, Any]
    instance: Annotated[Reported, Field(max_length=64)] = ""
    seq: Count | None = None
    host: HostIn | None = None
    running: RunningList = []
    unknown: Annotated[dict[Reported, Reported], Field(max_length=MOST_UNKNOWN)] = {}


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
    user: Annotated[Reported, Field(max_length=100)] | None = None
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
    uuid: Reported | None = None
    healthy: bool | None = None
    health_note: Reported = ""
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
    instance: Annotated[Reported, Field(max_length=64)] = ""
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
