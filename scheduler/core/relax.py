"""What a job could ask for instead: for each requirement alone the nearest value that helps, counted by asking again.

Everything that is said of an edit was found by deciding the edited job at the same moment of the same fleet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scheduler.core.asks import MOST_OF_A_KIND, Ask, Stage, Step
from scheduler.core.relax_sets import smallest_sets
from scheduler.core.relaxed import Change, Helps, Relaxation, first_that_helps, measured
from scheduler.core.requirements import requirements
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.standings import Standing

MOST_COMPARED = 3
"""Of values that are equally near only so many, those that gain most workers, are decided in full."""


@dataclass(frozen=True, slots=True)
class Relaxations:
    """What would help."""

    alone: tuple[Relaxation, ...]
    """One requirement changed, in the order of the checks: the nearest value that gains workers and, where that does
    not start the job, the nearest that does."""
    together: tuple[Relaxation, ...]
    """Where no requirement alone makes it fit, or lets a waiting job start: the smallest sets that do, best first."""
    searched: bool
    """Whether sets were looked for."""
    complete: bool
    """Whether every set of at most three was tried; false where there were too many."""


def relaxations(scene: Scene) -> Relaxations:
    """Every way to ask for less that gains workers, with the edited spec ready to submit."""
    standing, asks = scene.standing, requirements(scene.entry.spec)
    alone = tuple(found for ask in asks for found in _alone(scene, ask))
    if standing.starts or any(found.starts if standing.ever else found.fits for found in alone):
        return Relaxations(alone, (), searched=False, complete=True)
    together, complete = smallest_sets(scene, asks)
    return Relaxations(alone, together, searched=True, complete=complete and not _too_many(scene.entry.spec))


def _too_many(spec: JobSpec) -> bool:
    return max(len(spec.placement.worker_labels), len(spec.runtime.frameworks)) > MOST_OF_A_KIND


def _alone(scene: Scene, ask: Ask) -> Iterator[Relaxation]:
    """The nearest value that gains workers; then the nearest that makes it fit, and that starts it, if further away."""
    base, spec = scene.standing, scene.entry.spec
    loosest = [scene.stand(edited) for edited in ask.loosest(spec, scene)]
    told: list[JobSpec] = []
    for helps, at_best in _goals(scene, base, loosest):
        if not at_best or any(helps(edited) for edited in told):
            continue
        step = nearest(scene, ask.stages(spec, scene, _within_reach(base, loosest)), helps)
        if step is not None:
            told.append(step[0])
            yield measured(scene, (Change(ask.field, ask.label, ask.said(spec), step[1]),), step[0])


def _goals(scene: Scene, base: Standing, loosest: Sequence[Standing]) -> Iterator[tuple[Helps, bool]]:
    """What an edit may be good for, and whether the loosest one is."""
    gains = any(stand.compatible & ~base.compatible for stand in loosest)
    yield lambda spec: bool(scene.compatible(spec) & ~base.compatible), gains
    if not base.ever:
        yield lambda spec: scene.stand(spec).ever, any(stand.ever for stand in loosest)
    if not base.starts:
        yield lambda spec: scene.stand(spec).starts, any(stand.starts for stand in loosest)
        if not gains:
            frees = any(stand.eligible & ~base.eligible for stand in loosest)
            yield lambda spec: bool(scene.stand(spec).eligible & ~base.eligible), frees


def _within_reach(base: Standing, loosest: Sequence[Standing]) -> int:
    found = 0
    for stand in loosest:
        found |= stand.compatible & ~base.compatible | stand.eligible & ~base.eligible
    return found


def nearest(scene: Scene, stages: Sequence[Stage], helps: Helps) -> Step | None:
    """The best step of the first stage that helps."""
    at = first_that_helps(stages, helps)
    if at is None:
        return None
    helping = [step for step in stages[at] if helps(step[0])]
    return helping[0] if len(helping) == 1 else _best(scene, helping)


def _best(scene: Scene, steps: Sequence[Step]) -> Step:
    """The one that starts the job, else frees most, else gains most; the first of several."""

    def gained(step: Step) -> int:
        return (scene.compatible(step[0]) & ~scene.standing.compatible).bit_count()

    def reach(step: Step) -> tuple[bool, int, int]:
        stand = scene.stand(step[0])
        return stand.starts, (stand.eligible & ~scene.standing.eligible).bit_count(), gained(step)

    return max(sorted(steps, key=gained, reverse=True)[:MOST_COMPARED], key=reach)
