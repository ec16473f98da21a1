"""Ways to part a fleet into columns: by GPUs, target, torch version, a label, or worker by worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from scheduler.core.bits import first, groups_of
from scheduler.core.capability_software import environment_of, torch_of
from scheduler.core.fleet import WorkerFacts
from scheduler.core.questions import Reads, devices_of, environments_of
from scheduler.core.scene import Scene
from scheduler.core.words import value

MOST_COLUMNS = 12
BY_LABEL = "label:"
GROUPINGS = ("gpu", "tier", "torch", "worker")
"""And `label:KEY` for any label."""


@dataclass(frozen=True, slots=True)
class Column:
    """Some workers of a fleet under one name; `workers` is a set of ranks."""

    label: str
    workers: int


def columns(scene: Scene, grouping: str, within: int) -> tuple[Column, ...]:
    """The workers of a set by that grouping, the largest first; beyond a dozen, the smallest together."""
    found = {label: bits & within for label, bits in _parted(scene, grouping).items() if bits & within}
    ordered = sorted(found.items(), key=lambda pair: (-pair[1].bit_count(), pair[0]))
    if grouping == "worker":
        ordered.sort(key=lambda pair: first(pair[1]))
    if len(ordered) <= MOST_COLUMNS:
        return tuple(Column(*pair) for pair in ordered)
    rest = ordered[MOST_COLUMNS - 1 :]
    others = Column(f"{len(rest):,} others", sum(bits for _, bits in rest))
    return (*(Column(*pair) for pair in ordered[: MOST_COLUMNS - 1]), others)


def gpus_of(facts: WorkerFacts) -> str:
    """`8 × NVIDIA H100 80GB HBM3`; of several models, each with its count."""
    if facts.devices is None:
        return "GPUs unknown"
    models = Counter(device.model or "unknown model" for device in facts.devices)
    return " + ".join(f"{count:,} × {model}" for model, count in sorted(models.items())) or "no GPU"


def _parted(scene: Scene, grouping: str) -> dict[str, int]:
    if grouping == "gpu":
        return _by(scene, devices_of, gpus_of)
    if grouping == "tier":
        return {str(origin): bits for origin, bits in scene.census.origins.items()}
    if grouping == "torch":
        return _by(scene, environments_of, lambda facts: _torch(scene, facts))
    if grouping == "worker":
        return {worker: 1 << rank for rank, worker in enumerate(scene.census.roster.ids)}
    if grouping.startswith(BY_LABEL):
        return _by_label(scene, grouping.removeprefix(BY_LABEL))
    raise ValueError(f"{grouping} is no grouping; known are {', '.join(GROUPINGS)} and {BY_LABEL}KEY")


def _by(scene: Scene, reads: Reads, said: Callable[[WorkerFacts], str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for bits in scene.census.classes(reads).values():
        label = said(scene.census.facts[first(bits)])
        found[label] = found.get(label, 0) | bits
    return found


def _torch(scene: Scene, facts: WorkerFacts) -> str:
    name = scene.entry.spec.runtime.environment
    if environment_of(facts, name) is None:
        return f"no environment {name}"
    return torch_of(facts, name) or "torch missing or unknown"


def _by_label(scene: Scene, key: str) -> dict[str, int]:
    def said(labels: Iterable[tuple[str, str]]) -> Hashable:
        found = dict(labels).get(key)
        return f"no {key}" if found is None else f"{key}={value(found)}"

    return {str(label): bits for label, bits in groups_of(said(facts.labels) for facts in scene.census.facts).items()}
