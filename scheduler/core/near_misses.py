"""For each requirement by itself: how many of the workers in the targets meet it, and what it alone costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.core.labels import code_label, code_tone
from scheduler.core.matrix import Matrix, Row, matrix
from scheduler.core.reasons import Code, Kind
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.wants import wanted
from scheduler.core.words import agrees, counted, either

FIELDS: dict[Code, str] = {
    Code.PROVIDER: "placement.provider",
    Code.REGION: "placement.region",
    Code.NOT_PINNED: "placement.worker_ids",
    Code.LABEL: "placement.worker_labels",
    Code.NOT_RESERVED: "placement.reserved_only",
    Code.OS: "resources.os",
    Code.ARCH: "resources.arch",
    Code.CPU_CORES: "resources.cpu_cores",
    Code.MEMORY: "resources.memory_gb",
    Code.DISK: "resources.disk_gb",
    Code.PYTHON: "runtime.python",
    Code.FRAMEWORK: "runtime.frameworks",
    Code.GPU_COUNT: "resources.gpus",
    Code.GPU_ACCELERATOR: "resources.accelerator",
    Code.GPU_MODEL: "resources.gpu_models",
    Code.GPU_MEMORY: "resources.gpu_memory_gb",
    Code.GPU_MEMORY_KIND: "resources.gpu_memory_kind",
    Code.GPU_COMPUTE_CAPABILITY: "resources.compute_capability",
    Code.DIST_LAUNCHER: "distributed.launcher",
    Code.DIST_BACKEND: "distributed.comm_backend",
    Code.DIST_PROCS: "distributed.procs_per_worker",
}
"""Whose field in a job's document says what a check asks for."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """One requirement, as it is said under its field."""

    field: str
    """Path in the job's document."""
    text: str
    none: bool
    """No worker in the targets meets it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One check that workers in the targets fail."""

    workers: int
    label: str
    tone: str
    alone: str
    """What it alone keeps away, in words."""


def within_the_targets(scene: Scene) -> Matrix:
    """Every check of the workers in the job's targets."""
    inside = 0
    for tier in scene.entry.spec.tiers:
        inside |= scene.census.origins.get(tier, 0)
    return matrix(scene, grouping="tier", within=inside)


def near_misses(spec: JobSpec, found: Matrix) -> tuple[NearMiss, ...]:
    """By field, in the order of the checks; nothing of a fleet that has no worker in the targets."""
    workers = sum(count for _, count in found.columns)
    rows = [row for row in found.rows if row.code in FIELDS] if workers else []
    of = f"{workers:,} {either(spec.tiers)} {agrees(workers, 'worker', 'workers')}"
    return tuple(NearMiss(FIELDS[row.code], _meeting(row, spec, of), not row.total.passed) for row in rows)


def _meeting(row: Row, spec: JobSpec, of: str) -> str:
    unknown = f"; {row.total.unknown:,} unknown" if row.total.unknown else ""
    return f"{row.total.passed:,} of {of} {agrees(row.total.passed, 'has', 'have')} {_what(row, spec)}{unknown}"


def _what(row: Row, spec: JobSpec) -> str:
    if row.subject is None:
        return wanted(row.code, spec) if row.code.kind is Kind.CAPABILITY else "a reservation for it"
    value = dict(spec.placement.worker_labels if row.code is Code.LABEL else spec.runtime.frameworks)[row.subject]
    return f"{row.subject}={value}" if row.code is Code.LABEL else f"{row.subject} {value}".strip()


def causes(found: Matrix, *, never: bool) -> Iterator[Cause]:
    """The checks that somebody fails, those that most fail first: of capability, or of what there is now too."""
    rows = [row for row in found.rows if row.total.failed or row.total.unknown]
    shown = [row for row in rows if not never or row.code.kind is Kind.CAPABILITY]
    for row in sorted(shown, key=lambda row: -(row.total.failed + row.total.unknown)):
        failing = row.total.failed + row.total.unknown
        label = row.label if row.code.kind is Kind.CAPABILITY else code_label(row.code)
        yield Cause(failing, label, code_tone(row.code), _alone(row.only_blocker))


def _alone(workers: int) -> str:
    return f"the only blocker of {counted(workers, 'worker')}" if workers else "never the only blocker"
