"""Requirements on where a job runs: targets, provider, region, names and labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scheduler.core.asks import MOST_OF_A_KIND, Ask, Stage, all_or_nothing
from scheduler.core.edits import with_placement, without
from scheduler.core.nearest import nearest
from scheduler.core.notes import MOST_LOOKED_UP
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import FallbackWhen, JobSpec, Origin
from scheduler.core.words import names


def asks_of_place(spec: JobSpec) -> Iterator[Ask]:
    """Those that the job states, in the order of the checks."""
    if len(spec.tiers) < len(Origin):
        yield _FALLBACK_TARGETS
    if spec.fallback_when is FallbackWhen.INCOMPATIBLE:
        yield _FALLBACK_WHEN
    if spec.placement.provider is not None:
        yield _PROVIDER
    if spec.placement.region is not None:
        yield _REGION
    if spec.placement.worker_ids:
        yield _WORKER_IDS
    for key, _ in spec.placement.worker_labels[:MOST_OF_A_KIND]:
        yield _label(key)


def _falling_back(spec: JobSpec, *more: Origin) -> JobSpec:
    return replace(spec, fallback_targets=(*spec.fallback_targets, *more))


def _missing(spec: JobSpec) -> list[Origin]:
    return [origin for origin in Origin if origin not in spec.tiers]


def _further_targets(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    stages: list[Stage] = [[_with_targets(spec, origin) for origin in _missing(spec)]]
    if len(_missing(spec)) > 1:
        stages.append([_with_targets(spec, *_missing(spec))])
    return stages


def _with_targets(spec: JobSpec, *more: Origin) -> tuple[JobSpec, str]:
    edited = _falling_back(spec, *more)
    return edited, names(edited.fallback_targets)


def _without_pins(spec: JobSpec) -> JobSpec:
    return with_placement(spec, worker_ids=())


def _further_pins(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    """One more worker, those first that a misspelt pin may mean, then those that could take the job now; then any."""
    pins = spec.placement.worker_ids
    could = scene.compatible(_without_pins(spec)) & ~scene.compatible(spec)
    free = scene.stand(_without_pins(spec)).eligible & could
    unknown = [pin for pin in pins if pin not in scene.census.names.workers][:MOST_LOOKED_UP]
    meant = [nearest(pin, scene.census.names.workers) for pin in unknown]
    found = dict.fromkeys((*(name for name in meant if name), *scene.named(free)[:1], *scene.named(could)[:1]))
    one_more = [(with_placement(spec, worker_ids=(*pins, name)), names((*pins, name))) for name in found]
    return [*([one_more] if one_more else []), [(_without_pins(spec), "any")]]


def _label(key: str) -> Ask:
    return all_or_nothing(
        f"placement.worker_labels.{key}",
        f"label {key}",
        {Code.LABEL},
        lambda spec: dict(spec.placement.worker_labels)[key] or '""',
        lambda spec: with_placement(spec, worker_labels=without(spec.placement.worker_labels, key)),
    )


_FALLBACK_TARGETS = Ask(
    field="fallback_targets",
    label="fallback targets",
    said=lambda spec: names(spec.fallback_targets) or "none",
    codes=frozenset({Code.TARGET}),
    loosest=lambda spec, scene: (_falling_back(spec, *_missing(spec)),),
    stages=_further_targets,
)
_FALLBACK_WHEN = all_or_nothing(
    "fallback_when",
    "fallback_when",
    {Code.TIER_CLOSED},
    lambda spec: str(spec.fallback_when),
    lambda spec: replace(spec, fallback_when=FallbackWhen.UNAVAILABLE),
    word=str(FallbackWhen.UNAVAILABLE),
)
_PROVIDER = all_or_nothing(
    "placement.provider",
    "provider",
    {Code.PROVIDER},
    lambda spec: str(spec.placement.provider),
    lambda spec: with_placement(spec, provider=None),
)
_REGION = all_or_nothing(
    "placement.region",
    "region",
    {Code.REGION},
    lambda spec: str(spec.placement.region),
    lambda spec: with_placement(spec, region=None),
)
_WORKER_IDS = Ask(
    field="placement.worker_ids",
    label="pinned workers",
    said=lambda spec: names(spec.placement.worker_ids),
    codes=frozenset({Code.NOT_PINNED}),
    loosest=lambda spec, scene: (_without_pins(spec),),
    stages=_further_pins,
)
