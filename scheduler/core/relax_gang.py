"""A gang and its torch versions: how many places each can fill, and whose torch would have to change.

Versions are never mixed: what helps is fewer workers, another target, or another torch on some worker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduler.core.availability import Setting
from scheduler.core.bits import first, groups_of
from scheduler.core.capability_software import TORCH, environment_of, torch_of
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import EnvironmentView, WorkerFacts
from scheduler.core.gang import members as members_of
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import Origin

MOST_NAMED = 5
_OF_TORCH = frozenset((Code.DIST_TORCH, Code.FRAMEWORK, Code.SUPPORT_MATRIX))


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
    alike = groups_of(scene.standing.shape.torch or ())
    found = [
        _version(scene, tier, torch, bits & scene.standing.shape.in_tier(tier))
        for tier in scene.entry.spec.tiers
        for torch, bits in alike.items()
        if bits & scene.standing.shape.in_tier(tier)
    ]
    order = {tier.value: place for place, tier in enumerate(scene.entry.spec.tiers)}
    found.sort(key=lambda version: (order[version.tier], -version.free, -version.compatible, str(version.torch)))
    return tuple(found)


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


def _version(scene: Scene, tier: Origin, torch: str | None, workers: int) -> GangVersion:
    """`workers` are the compatible ones of this target and version."""
    free = workers & scene.standing.eligible
    return GangVersion(
        tier=tier.value, torch=torch, needed=members_of(scene.entry.spec), compatible=workers.bit_count(),
        free=free.bit_count(), free_workers=scene.named(free)[:MOST_NAMED], change=_change(scene, tier, torch, workers),
    )  # fmt: skip


def _change(scene: Scene, tier: Origin, torch: str | None, workers: int) -> TorchChange | None:
    needed, standing = members_of(scene.entry.spec), scene.standing
    free, compatible = (workers & standing.eligible).bit_count(), workers.bit_count()
    if free >= needed or tier in standing.shape.closed:
        return None
    lacking = _lacking_torch(scene) & scene.census.origins.get(tier, 0)
    others = standing.shape.in_tier(tier) & ~workers | lacking
    sample = scene.census.facts[first(workers)]
    now = _changeable(scene, torch, sample, others & (standing.eligible | lacking), needed - free, free=True)
    if len(now) == needed - free:
        return TorchChange(workers=tuple(now), starts=True)
    if compatible >= needed:
        return None
    ever = _changeable(scene, torch, sample, others, needed - compatible, free=False)
    return TorchChange(workers=tuple(ever), starts=False) if len(ever) == needed - compatible else None


def _lacking_torch(scene: Scene) -> int:
    """The workers on which nothing but a suitable torch is missing."""
    return sum(bits for (_, codes), bits in scene.parts().items() if codes and _OF_TORCH.issuperset(codes))


def _changeable(
    scene: Scene, torch: str | None, sample: WorkerFacts, others: int, enough: int, *, free: bool
) -> list[tuple[str, str | None]]:
    """So many workers that would fit with the torch that `sample` has, and are free if so asked; fewer if need be."""
    name, standing = scene.entry.spec.runtime.environment, scene.standing
    like = environment_of(sample, name) or EnvironmentView()
    setting = Setting(closed=standing.shape.closed, avoided=standing.avoided)
    found: list[tuple[str, str | None]] = []
    for view in scene.views(others) if others.bit_count() >= enough else ():
        changed = replace(view, facts=with_torch(view.facts, name, torch, like))
        taken = free and availability_reasons(scene.entry, changed, setting)
        if not taken and not compatibility_reasons(scene.entry, changed):
            found.append((view.id, torch_of(view.facts, name)))
        if len(found) == enough:
            break
    return found
