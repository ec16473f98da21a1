"""Names and tones of codes, for facets, funnels and tables."""

from __future__ import annotations

from scheduler.core.reasons import CODES, Code, Kind

LABELS: dict[Code, str] = {
    Code.TARGET: "outside the targets",
    Code.PROVIDER: "provider",
    Code.REGION: "region",
    Code.NOT_PINNED: "not pinned",
    Code.LABEL: "label",
    Code.RESERVED: "reserved for others",
    Code.OS: "OS",
    Code.ARCH: "CPU architecture",
    Code.CPU_CORES: "CPU cores",
    Code.MEMORY: "RAM",
    Code.DISK: "disk",
    Code.ENVIRONMENT: "environment",
    Code.PYTHON: "Python",
    Code.FRAMEWORK: "framework",
    Code.SUPPORT_MATRIX: "support matrix",
    Code.GPU_COUNT: "number of GPUs",
    Code.GPU_MIG: "whole GPUs",
    Code.GPU_ACCELERATOR: "accelerator",
    Code.GPU_MODEL: "GPU model",
    Code.GPU_MEMORY: "GPU memory",
    Code.GPU_MEMORY_KIND: "GPU memory kind",
    Code.GPU_COMPUTE_CAPABILITY: "compute capability",
    Code.GPU_COMBINATION: "GPUs that meet all of it",
    Code.DIST_LAUNCHER: "launcher",
    Code.DIST_BACKEND: "communication backend",
    Code.DIST_TORCH: "torch for a gang",
    Code.DIST_ADDRESS: "address for a gang",
    Code.DIST_PROCS: "cores per process",
    Code.OFFLINE: "offline",
    Code.DRAINING: "draining",
    Code.UNHEALTHY: "unhealthy",
    Code.RESERVED_UNTIL: "reserved until",
    Code.RESERVED_FROM: "reserved soon",
    Code.NOT_RESERVED: "waits for its reservation",
    Code.FAILED_HERE: "failed here",
    Code.SLOTS: "task slots taken",
    Code.TIER_CLOSED: "target closed",
    Code.CPU_IN_USE: "CPU in use",
    Code.MEMORY_IN_USE: "RAM in use",
    Code.DISK_IN_USE: "disk in use",
    Code.GPU_UNHEALTHY: "devices unhealthy",
    Code.GPU_RESERVED: "devices reserved",
    Code.GPU_RESERVED_FROM: "devices reserved soon",
    Code.GPU_NOT_RESERVED: "devices not its own",
    Code.GPU_FOREIGN: "devices used outside gpulayer",
    Code.GPU_IN_USE: "devices in use",
    Code.GANG_TOO_FEW: "too few workers",
    Code.GANG_TORCH_MIX: "no common torch version",
    Code.GANG_NOT_FREE: "too few workers free at once",
}
_RESERVED = frozenset(
    (Code.RESERVED, Code.RESERVED_UNTIL, Code.RESERVED_FROM, Code.GPU_RESERVED, Code.GPU_RESERVED_FROM)
)
_NEVER = frozenset((Code.GANG_TOO_FEW, Code.GANG_TORCH_MIX))


def code_label(code: Code | str) -> str:
    """What a code is called where there is no room for its sentence."""
    return LABELS[CODES[code] if isinstance(code, str) else code]


def code_tone(code: Code | str) -> str:
    """`never`, `wait` or `rsv`: no known worker, not now, set aside for somebody else."""
    known = CODES[code] if isinstance(code, str) else code
    if known in _RESERVED:
        return "rsv"
    return "never" if known.kind is Kind.CAPABILITY or known in _NEVER else "wait"


_CHECKS: dict[Code, str] = LABELS | {
    Code.TARGET: "target",
    Code.NOT_PINNED: "pinned",
    Code.RESERVED: "reservation",
    Code.OFFLINE: "online",
    Code.DRAINING: "takes new jobs",
    Code.UNHEALTHY: "healthy",
    Code.RESERVED_UNTIL: "reservation with an end",
    Code.RESERVED_FROM: "over before a reservation",
    Code.NOT_RESERVED: "reserved for it",
    Code.FAILED_HERE: "did not fail here",
    Code.SLOTS: "task slot free",
    Code.TIER_CLOSED: "target open",
    Code.CPU_IN_USE: "CPU left",
    Code.MEMORY_IN_USE: "RAM left",
    Code.DISK_IN_USE: "disk left",
    Code.GPU_UNHEALTHY: "devices healthy",
    Code.GPU_RESERVED: "devices not reserved",
    Code.GPU_RESERVED_FROM: "over before devices are reserved",
    Code.GPU_NOT_RESERVED: "devices reserved for it",
    Code.GPU_FOREIGN: "devices unused outside gpulayer",
    Code.GPU_IN_USE: "devices free",
}


def check_label(code: Code) -> str:
    """What the check behind a code asks for."""
    return _CHECKS[code]
