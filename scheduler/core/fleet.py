"""What exists at one instant: facts, state and load of every worker. Unknown is None."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from scheduler.core.spec import Accelerator, MemoryKind, Origin

GB = 10**9
DEFAULT_FOREIGN_ALLOWANCE_BYTES = GB
DEFAULT_NOTICE_SECONDS = 24 * 3600
RESERVED_FOR = "gpulayer.dev/reserved-for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A reservation that has yet to begin. It leaves the time before it to jobs that are over when it begins."""

    holder: str
    starts_at: datetime
    ends_at: datetime | None = None
    devices: tuple[int, ...] = ()
    """Indices, sorted; empty: the whole worker."""
    notice_s: int = DEFAULT_NOTICE_SECONDS
    """So many seconds before its start jobs without a time limit are no longer let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """One accelerator. `healthy` and `mig` are None where the probe could not tell."""

    index: int
    uuid: str | None = None
    model: str | None = None
    kind: Accelerator | None = None
    memory_bytes: int | None = None
    memory_kind: MemoryKind | None = None
    compute_capability: str | None = None
    mig: bool | None = None
    healthy: bool | None = None
    health_note: str = ""
    foreign_memory_bytes: int | None = None
    reserved_for: str | None = None
    reserved_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """What a torch build says of itself: its CUDA or HIP version and the targets it has code for."""

    cuda: str | None = None
    hip: str | None = None
    archs: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentView:
    """One Python interpreter and what is installed in it. None: not known; empty: known to be none."""

    python: str | None = None
    frameworks: tuple[tuple[str, str | None], ...] | None = None
    """(normalised name, version) pairs, sorted by name."""
    torch_build: TorchBuild | None = None
    launchers: tuple[str, ...] | None = None
    comm_backends: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFacts:
    """What a worker is; changes seldom, so it is parsed once per version and shared between views."""

    id: str
    origin: Origin
    provider: str | None = None
    region: str | None = None
    os: str | None = None
    os_version: str | None = None
    arch: str | None = None
    cpu_millicores: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    driver: str | None = None
    advertise_address: str | None = None
    max_concurrent_tasks: int | None = None
    foreign_allowance_bytes: int | None = None
    environments: tuple[tuple[str, EnvironmentView], ...] = (("default", EnvironmentView()),)
    """(name, environment) pairs, `default` first, then by name."""
    labels: tuple[tuple[str, str], ...] = ()
    """(key, value) pairs, sorted by key; the reservation label is held apart, in `reserved_for`."""
    reserved_for: str | None = None
    reserved_until: datetime | None = None
    devices: tuple[DeviceView, ...] | None = ()
    """Sorted by index; None where the probe could not tell."""
    simulated: bool = False
    upcoming: tuple[Window, ...] = ()
    """By their starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLoad:
    """What one running task holds of its worker."""

    job_id: str
    devices: tuple[int, ...] = ()
    cpu_millicores: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """Facts + state + load of one worker at one instant."""

    facts: WorkerFacts
    online: bool = True
    draining: bool = False
    unhealthy: bool = False
    state_note: str = ""
    """Why it is draining or unhealthy, as recorded."""
    state_since: datetime | None = None
    tasks: tuple[TaskLoad, ...] = ()
    at: datetime | None = None
    """The instant of the view, from which upcoming reservations are looked at; None where it has none of them, or
    where they are not to be looked at."""

    @property
    def id(self) -> str:
        """The worker's stable, unique name."""
        return self.facts.id

    def holding(self, *more: TaskLoad) -> WorkerView:
        """This worker with more tasks on it."""
        return WorkerView(
            facts=self.facts, online=self.online, draining=self.draining, unhealthy=self.unhealthy,
            state_note=self.state_note, state_since=self.state_since, tasks=(*self.tasks, *more),
            at=self.at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every worker of one instant, sorted by id."""

    workers: tuple[WorkerView, ...] = field(default=())
