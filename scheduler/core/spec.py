"""What a job asks for, as values. Parsing documents into them is `parsing`'s work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum


class Origin(StrEnum):
    """Where a worker stands; a job's tiers are origins in its own order."""

    LOCAL = "local"
    REMOTE = "remote"
    CLOUD = "cloud"


class FallbackWhen(StrEnum):
    """When a later tier opens: the earlier cannot place the job now, or never could."""

    UNAVAILABLE = "unavailable"
    INCOMPATIBLE = "incompatible"


class OnUnschedulable(StrEnum):
    """What becomes of a job that no set of workers could ever run."""

    QUEUE = "queue"
    FAIL = "fail"


class Policy(StrEnum):
    """How eligible workers are ordered."""

    FIRST_FIT = "first_fit"
    MOST_FREE_MEMORY = "most_free_memory"


class Accelerator(StrEnum):
    """Kinds of device, in the order in which an unstated kind is settled."""

    CUDA = "cuda"
    ROCM = "rocm"
    XPU = "xpu"
    MPS = "mps"


class MemoryKind(StrEnum):
    """Whether a device has memory of its own or shares the host's."""

    DEDICATED = "dedicated"
    UNIFIED = "unified"


class RetryOn(StrEnum):
    """After what an attempt may be repeated."""

    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Which workers may be considered at all; empty means any."""

    provider: str | None = None
    region: str | None = None
    worker_ids: tuple[str, ...] = ()
    worker_labels: tuple[tuple[str, str], ...] = ()
    """(key, value) pairs, sorted by key."""
    reserved_only: bool = field(default=False, repr=False)
    """Only what is reserved for one of the job's holders will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one task needs of its worker; None means not required. Sizes are bytes, CPU cores thousandths."""

    os: str | None = None
    arch: str | None = None
    cpu_millicores: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    gpus: int = 0
    accelerator: Accelerator | None = None
    gpu_models: tuple[str, ...] = ()
    gpu_memory_bytes: int | None = None
    gpu_memory_kind: MemoryKind | None = None
    compute_capability: str | None = None
    """A PEP 440 specifier; a bare version was read as `>=`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The environment and what must be installed in it."""

    environment: str = "default"
    environment_stated: bool = False
    """Whether the document names the environment; an unstated `default` is never a missing one."""
    python: str | None = None
    frameworks: tuple[tuple[str, str], ...] = ()
    """(normalised name, specifier) pairs, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributed:
    """A gang: `num_workers` tasks that start together or not at all."""

    num_workers: int
    procs_per_worker: int
    launcher: str | None = None
    comm_backend: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often an attempt may be repeated, and after what, sorted."""

    max: int = 0
    on: tuple[RetryOn, ...] = (RetryOn.LOST,)
    lease_s: int | None = None
    """How long its host may be out of contact before it counts as lost; None: as long as the server says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What a person submits. Immutable. What a pass may look at of it is `shapes.shape_of`."""

    name: str
    command: tuple[str, ...]
    """Empty for a hold."""
    target: Origin
    workdir: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    fallback_targets: tuple[Origin, ...] = ()
    fallback_when: FallbackWhen = FallbackWhen.UNAVAILABLE
    on_unschedulable: OnUnschedulable = OnUnschedulable.QUEUE
    policy: Policy = Policy.FIRST_FIT
    placement: Placement = Placement()
    resources: Resources = Resources()
    runtime: Runtime = Runtime()
    distributed: Distributed | None = None
    retries: Retries = Retries()
    timeout_s: int | None = None
    files: str | None = None
    """The sha256 (hex) of uploaded files, unpacked where it runs."""
    hold_s: int | None = None
    """In place of a command: how long its devices are held for a person."""

    @property
    def tiers(self) -> tuple[Origin, ...]:
        """Every origin this job may run at, in the order in which they are tried."""
        return (self.target, *self.fallback_targets)

    @property
    def limit_s(self) -> int | None:
        """After how many seconds it is over at the latest; None where nothing bounds it."""
        return self.timeout_s if self.hold_s is None else self.hold_s

    @property
    def asked(self) -> JobSpec:
        """The same without what no decision looks at where no reservation is to begin."""
        return replace(
            self, name="", command=(), files=None, workdir=None, env=(), secrets=(), timeout_s=None, hold_s=None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A job as a pass sees it: its spec and what the server knows of it."""

    job_id: str
    spec: JobSpec
    submitted_at: str | float | None = None
    """An ISO 8601 instant in UTC, or a number; None where the order of a list decides."""
    holders: tuple[str, ...] = ()
    """`user:…`, `team:…`; the job itself (`job:<job_id>`) always counts too."""
    failed_on: tuple[str, ...] = ()
    """Ids of workers on which an attempt of this job failed."""
