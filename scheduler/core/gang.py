"""All members of a group or none: one tier, one torch version. A plain job is a group of one of no version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scheduler.core.fleet import WorkerFacts
from scheduler.core.reasons import Code, GroupReason
from scheduler.core.spec import JobSpec, Origin

T = TypeVar("T")
Version = str | None
"""A torch version as reported; None for a plain job, which asks for none."""


def members(spec: JobSpec) -> int:
    """How many workers the job needs at once."""
    return spec.distributed.num_workers if spec.distributed else 1


def can_hold(counts: Mapping[Version, int], needed: int) -> bool:
    """Whether one version has enough workers."""
    return any(count >= needed for count in counts.values())


def first_to_fill(walk: Iterable[tuple[T, Version]], needed: int) -> tuple[tuple[T, ...], dict[Version, int]]:
    """Walk workers in policy order, each into the bucket of its version, until one is full.

    Returns its members, none where no bucket fills, and how many each bucket holds by then.
    """
    buckets: dict[Version, list[T]] = {}
    for worker, version in walk:
        bucket = buckets.setdefault(version, [])
        bucket.append(worker)
        if len(bucket) == needed:
            return tuple(bucket), {version: len(held) for version, held in buckets.items()}
    return (), {version: len(held) for version, held in buckets.items()}


def group_reasons(
    tier: Origin, compatible: Mapping[Version, int], free: Mapping[Version, int], needed: int
) -> tuple[GroupReason, ...]:
    """Why a tier could not hold the group: one code, told for every version found there."""
    if sum(compatible.values()) < needed:
        code = Code.GANG_TOO_FEW
    elif not can_hold(compatible, needed):
        code = Code.GANG_TORCH_MIX
    else:
        code = Code.GANG_NOT_FREE
    return tuple(
        GroupReason(
            code=code, tier=tier.value, torch=version,
            compatible=compatible.get(version, 0), free=free.get(version, 0), needed=needed,
        )
        for version in sorted(compatible, key=str) or [None]
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """What every member of a gang must be told about the others."""

    master_address: str
    nodes: tuple[str, ...]
    """Worker ids by node rank."""
    procs_per_node: int

    @property
    def world_size(self) -> int:
        """Processes in all."""
        return len(self.nodes) * self.procs_per_node


def plan_group(spec: JobSpec, workers: Sequence[WorkerFacts]) -> GroupPlan:
    """The plan of a distributed job on these workers, in the order of their ranks; rank 0 is the master."""
    if spec.distributed is None or not workers or not workers[0].advertise_address:
        raise ValueError("a group is planned for a distributed job on workers that can be reached")
    return GroupPlan(
        master_address=workers[0].advertise_address,
        nodes=tuple(worker.id for worker in workers),
        procs_per_node=spec.distributed.procs_per_worker,
    )
