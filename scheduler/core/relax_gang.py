"""A gang and its torch versions: how many places each can fill, and whose torch would have to change.

Versions are never mixed: what helps is fewer workers, another target, or another torch on some worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler.core.bits import members
from scheduler.core.capability_software import TORCH, environment_of, torch_of
from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.fleet import EnvironmentView, WorkerFacts, WorkerView
from scheduler.core.gang import members as members_of
from scheduler.core.scene import Scene
from scheduler.core.spec import Origin

MOST_NAMED = 5
MOST_LOOKED_AT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchChange:
    """Workers on which another torch would complete the gang, and what they have now."""

    workers: tuple[tuple[str, str | None], ...]
    """(worker, its torch now) pairs."""
    starts: bool
    """Whether the gang would start; else it would fit, and wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangVersion:
    """The workers of one target that report one torch version."""

    tier: str
    torch: str | None
    needed: int
    compatible: int
    free: int
    free_workers: tuple[str, ...]
    """Some of the free ones, in the order of their ids."""
    change: TorchChange | None
    """The fewest workers to bring to this version so that the gang is complete; None where it is, or nothing would."""


def gang_versions(scene: Scene) -> tuple[GangVersion, ...]:
    """Every torch version that compatible workers report, by target, the one with the most free workers first."""
    if scene.entry.spec.distributed is None:
        return ()
    return tuple(version for tier in scene.entry.spec.tiers for version in _in_tier(scene, tier))


def with_torch(facts: WorkerFacts, name: str, version: str | None, like: EnvironmentView) -> WorkerFacts:
    """The same worker with another build of torch in its environment of that name: the one that `like` has."""
    environment = environment_of(facts, name) or like
    others = tuple(pair for pair in environment.frameworks or () if pair[0] != TORCH)
    changed = replace(
        environment, frameworks=tuple(sorted((*others, (TORCH, version)))), torch_build=like.torch_build
    )  # fmt: skip
    return replace(facts, environments=tuple(sorted({**dict(facts.environments), name: changed}.items(), key=_place)))


def _place(named: tuple[str, EnvironmentView]) -> tuple[bool, str]:
    return named[0] != "default", named[0]


def _in_tier(scene: Scene, tier: Origin) -> list[GangVersion]:
    standing, shape = scene.standing, scene.standing.shape
    compatible, free = shape.count(standing.compatible)[tier], shape.count(standing.eligible)[tier]
    found = [_version(scene, tier, torch, compatible[torch], free.get(torch, 0)) for torch in compatible]
    return sorted(found, key=lambda version: (-version.free, -version.compatible, str(version.torch)))


def _version(scene: Scene, tier: Origin, torch: str | None, compatible: int, free: int) -> GangVersion:
    needed = members_of(scene.entry.spec)
    shape = scene.standing.shape
    here = [
        facts.id
        for facts in members(scene.standing.eligible & shape.in_tier(tier), scene.census.facts)
        if _torch(scene, facts) == torch
    ]
    return GangVersion(
        tier=tier.value, torch=torch, needed=needed, compatible=compatible, free=free,
        free_workers=tuple(here[:MOST_NAMED]), change=_change(scene, tier, torch, needed, compatible, free),
    )  # fmt: skip


def _change(
    scene: Scene, tier: Origin, torch: str | None, needed: int, compatible: int, free: int
) -> TorchChange | None:
    if free >= needed or tier in scene.standing.shape.closed:
        return None
    sample = next(
        facts
        for facts in members(scene.standing.shape.in_tier(tier), scene.census.facts)
        if _torch(scene, facts) == torch
    )
    now = _changeable(scene, tier, torch, sample, scene.standing.eligible)
    if free + len(now) >= needed:
        return TorchChange(workers=tuple(now[: needed - free]), starts=True)
    if compatible >= needed:
        return None
    ever = _changeable(scene, tier, torch, sample, scene.standing.compatible)
    if compatible + len(ever) >= needed:
        return TorchChange(workers=tuple(ever[: needed - compatible]), starts=False)
    return None


def _changeable(
    scene: Scene, tier: Origin, torch: str | None, sample: WorkerFacts, among: int
) -> list[tuple[str, str | None]]:
    """Workers of the target with another version that would still fit with this one."""
    workers = members(among & scene.standing.shape.in_tier(tier), scene.board.views)
    return list(_fitting(scene, [view for view in workers if _torch(scene, view.facts) != torch], torch, sample))


def _fitting(
    scene: Scene, views: Sequence[WorkerView], torch: str | None, sample: WorkerFacts
) -> Iterator[tuple[str, str | None]]:
    name = scene.entry.spec.runtime.environment
    like = environment_of(sample, name) or EnvironmentView()
    for view in views[:MOST_LOOKED_AT]:
        changed = replace(view, facts=with_torch(view.facts, name, torch, like))
        if not compatibility_reasons(scene.entry, changed):
            yield view.id, _torch(scene, view.facts)


def _torch(scene: Scene, facts: WorkerFacts) -> str | None:
    return torch_of(facts, scene.entry.spec.runtime.environment)
