"""Why a worker was not chosen: a code and the facts that suffice for its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum


class Kind(StrEnum):
    """Whether a reason says never, not now, or speaks of a group of workers."""

    CAPABILITY = "capability"
    AVAILABILITY = "availability"
    GROUP = "group"


class Code(Enum):
    """Every reason there is, in the order in which the checks are asked."""

    TARGET = ("target", Kind.CAPABILITY)
    PROVIDER = ("provider", Kind.CAPABILITY)
    REGION = ("region", Kind.CAPABILITY)
    NOT_PINNED = ("not_pinned", Kind.CAPABILITY)
    LABEL = ("label", Kind.CAPABILITY)
    RESERVED = ("reserved", Kind.CAPABILITY)
    OS = ("os", Kind.CAPABILITY)
    ARCH = ("arch", Kind.CAPABILITY)
    CPU_CORES = ("cpu_cores", Kind.CAPABILITY)
    MEMORY = ("memory", Kind.CAPABILITY)
    DISK = ("disk", Kind.CAPABILITY)
    ENVIRONMENT = ("environment", Kind.CAPABILITY)
    PYTHON = ("python", Kind.CAPABILITY)
    FRAMEWORK = ("framework", Kind.CAPABILITY)
    SUPPORT_MATRIX = ("support_matrix", Kind.CAPABILITY)
    GPU_COUNT = ("gpu_count", Kind.CAPABILITY)
    GPU_MIG = ("gpu_mig", Kind.CAPABILITY)
    GPU_ACCELERATOR = ("gpu_accelerator", Kind.CAPABILITY)
    GPU_MODEL = ("gpu_model", Kind.CAPABILITY)
    GPU_MEMORY = ("gpu_memory", Kind.CAPABILITY)
    GPU_MEMORY_KIND = ("gpu_memory_kind", Kind.CAPABILITY)
    GPU_COMPUTE_CAPABILITY = ("gpu_compute_capability", Kind.CAPABILITY)
    GPU_COMBINATION = ("gpu_combination", Kind.CAPABILITY)
    DIST_LAUNCHER = ("dist_launcher", Kind.CAPABILITY)
    DIST_BACKEND = ("dist_backend", Kind.CAPABILITY)
    DIST_TORCH = ("dist_torch", Kind.CAPABILITY)
    DIST_ADDRESS = ("dist_address", Kind.CAPABILITY)
    DIST_PROCS = ("dist_procs", Kind.CAPABILITY)

    OFFLINE = ("offline", Kind.AVAILABILITY)
    DRAINING = ("draining", Kind.AVAILABILITY)
    UNHEALTHY = ("unhealthy", Kind.AVAILABILITY)
    RESERVED_UNTIL = ("reserved_until", Kind.AVAILABILITY)
    RESERVED_FROM = ("reserved_from", Kind.AVAILABILITY)
    NOT_RESERVED = ("not_reserved", Kind.AVAILABILITY)
    FAILED_HERE = ("failed_here", Kind.AVAILABILITY)
    SLOTS = ("slots", Kind.AVAILABILITY)
    TIER_CLOSED = ("tier_closed", Kind.AVAILABILITY)
    CPU_IN_USE = ("cpu_in_use", Kind.AVAILABILITY)
    MEMORY_IN_USE = ("memory_in_use", Kind.AVAILABILITY)
    DISK_IN_USE = ("disk_in_use", Kind.AVAILABILITY)
    GPU_UNHEALTHY = ("gpu_unhealthy", Kind.AVAILABILITY)
    GPU_RESERVED = ("gpu_reserved", Kind.AVAILABILITY)
    GPU_RESERVED_FROM = ("gpu_reserved_from", Kind.AVAILABILITY)
    GPU_NOT_RESERVED = ("gpu_not_reserved", Kind.AVAILABILITY)
    GPU_FOREIGN = ("gpu_foreign", Kind.AVAILABILITY)
    GPU_IN_USE = ("gpu_in_use", Kind.AVAILABILITY)

    GANG_TOO_FEW = ("gang_too_few", Kind.GROUP)
    GANG_TORCH_MIX = ("gang_torch_mix", Kind.GROUP)
    GANG_NOT_FREE = ("gang_not_free", Kind.GROUP)

    def __init__(self, text: str, kind: Kind) -> None:
        self.text = text
        self.kind = kind

    # By far the most of what is looked up are tuples of codes, and each look-up would hash every name in them anew.
    __hash__ = object.__hash__


CODES: dict[str, Code] = {code.text: code for code in Code}
ORDER: dict[Code, int] = {code: place for place, code in enumerate(Code)}

Fact = str | int | bool | tuple[str, ...] | None


class Matter(StrEnum):
    """What of a combination the support matrix says no to."""

    PLATFORM = "platform"
    """The operating system and architecture, for this kind of device or this kind of build."""
    BUILD = "build"
    """The build is for another kind of device, or for none."""
    PYTHON = "python"
    DRIVER = "driver"
    CODE = "code"
    """The build has no code for the devices."""
    PTX = "ptx"
    """The build has code that this driver cannot compile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One failed check. Sizes are bytes and CPU cores thousandths in `required`, `actual` and `enough_at`."""

    code: Code
    field: str
    """Path in the job document, such as `resources.gpu_memory_gb`."""
    required: Fact = None
    actual: Fact = None
    unknown: bool = False
    subject: str | None = None
    """A label's key, a framework's name, an environment's name."""
    have: int | None = None
    """Qualifying devices left after every cause that takes one away."""
    of: int | None = None
    """All the worker's devices."""
    enough_at: Fact = None
    """The value of `required` at which enough devices would qualify; of an upcoming reservation, the longest time
    limit in seconds with which the job would be over before."""
    devices: tuple[int, ...] = ()
    holders: tuple[str, ...] = ()
    until: datetime | None = None
    since: datetime | None = None
    matter: Matter | None = None
    """Of `support_matrix`: what it is about."""
    row: str | None = None
    """Of `support_matrix`: the row of the table that says so."""


class NoteCode(StrEnum):
    """What no single worker can say."""

    PINNED_UNKNOWN = "pinned_unknown"
    LABEL_UNKNOWN = "label_unknown"
    ENVIRONMENT_UNKNOWN = "environment_unknown"
    NO_WORKERS = "no_workers"
    NEWER_THAN_MATRIX = "newer_than_matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A remark on the job against the whole fleet, with the nearest existing name where there is one."""

    code: NoteCode
    subject: str = ""
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReason:
    """Why one tier could not hold a gang; one per torch version, or one without where no worker is compatible."""

    code: Code
    tier: str
    torch: str | None
    compatible: int
    free: int
    needed: int
