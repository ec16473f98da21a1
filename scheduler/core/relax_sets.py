"""Where no requirement alone helps: the smallest sets of requirements that do, of at most three.

A set can only help if, for some worker, it holds a requirement behind each code that stands against it. Sets that
cannot are not tried; all others of one size are, so that a set found is a smallest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from scheduler.core.asks import DEVICES, DEVICES_NOW, SOFTWARE, Ask, with_hidden
from scheduler.core.reasons import Code, Kind
from scheduler.core.relaxed import Change, Helps, Relaxation, first_that_helps, measured
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec

MOST_TOGETHER = 3
MOST_TRIED = 600
MOST_RELATED = 16
MOST_SHOWN = 3
Set = tuple[int, ...]
"""Places among the job's requirements, rising."""


def smallest_sets(scene: Scene, asks: Sequence[Ask]) -> tuple[tuple[Relaxation, ...], bool]:
    """The best few of the smallest sets, and whether none was left out for being too many.

    Of a job that no worker fits, those by which it could ever be placed; of one that waits, those by which it starts.
    """
    reaches = _goal(scene)
    if not any(map(reaches, _everything(scene, asks))):
        return (), True
    whole = all(len(places) <= MOST_RELATED for _, places in _hindered(scene, asks))
    for size in range(2, MOST_TOGETHER + 1):
        tried = list(dict.fromkeys(_candidates(scene, asks, size)))
        found = [one for one in tried[:MOST_TRIED] if any(map(reaches, loosened(scene, scene.entry.spec, asks, one)))]
        if found:
            edits = [_tightened(scene, asks, one, reaches) for one in found[: 2 * MOST_SHOWN]]
            best = sorted(edits, key=lambda edit: (not edit.starts, -edit.free, -edit.gained))
            return tuple(best[:MOST_SHOWN]), whole and len(tried) <= MOST_TRIED
        if len(tried) > MOST_TRIED:
            return (), False
    return (), whole


def _everything(scene: Scene, asks: Sequence[Ask]) -> Iterator[JobSpec]:
    """The least that can be asked in all; of what is merely asked otherwise, also as it is."""
    otherwise = [place for place, ask in enumerate(asks) if ask.field in _ASKED_OTHERWISE]
    for number in range(len(otherwise) + 1):
        for kept in combinations(otherwise, number):
            yield from loosened(
                scene, scene.entry.spec, asks, [place for place in range(len(asks)) if place not in kept]
            )


_ASKED_OTHERWISE = ("runtime.environment", "resources.gpus")
"""Another environment is not less than this one, and of fewer devices another kind may be settled on."""


def loosened(scene: Scene, spec: JobSpec, asks: Sequence[Ask], places: Sequence[int]) -> list[JobSpec]:
    """Every way to ask for the least of all these requirements."""
    specs = [spec]
    for place in places:
        specs = [looser for one in specs for looser in asks[place].loosest(one, scene)] or specs
    return specs


def _goal(scene: Scene) -> Helps:
    if scene.standing.ever:
        return lambda spec: scene.stand(spec).starts
    if scene.entry.spec.distributed is None:
        return lambda spec: bool(scene.compatible(spec))
    return lambda spec: scene.stand(spec).ever


def _candidates(scene: Scene, asks: Sequence[Ask], size: int) -> Iterator[Set]:
    """The sets of this size that may help; a gang needs several workers, so any combination may help it."""
    hindered = list(_hindered(scene, asks))
    if scene.entry.spec.distributed:
        related = sorted({place for _, places in hindered for place in places} | _of_no_code(asks))
        yield from combinations(related[:MOST_RELATED], size)
        return
    for codes, places in hindered:
        for one in combinations(places[:MOST_RELATED], size):
            if all(any(code in asks[place].codes for place in one) for code in codes):
                yield tuple(sorted(one))


def _hindered(scene: Scene, asks: Sequence[Ask]) -> Iterator[tuple[tuple[Code, ...], list[int]]]:
    """The workers that edits could gain, by what stands against them, and the requirements that may be behind it."""
    known = frozenset().union(*(ask.codes for ask in asks))
    waits = scene.standing.ever
    for (_, codes), workers in scene.parts().items():
        never = any(code.kind is Kind.CAPABILITY for code in codes)
        if codes and known.issuperset(codes) and (never or waits) and _least(codes) <= MOST_TOGETHER:
            behind = with_hidden(codes)
            related = [place for place, ask in enumerate(asks) if ask.codes & behind and _concerns(scene, ask, workers)]
            yield codes, sorted(related, key=lambda place: asks[place].codes.isdisjoint(codes))


def _least(codes: Iterable[Code]) -> int:
    """How many requirements are behind these codes at least: one may be behind all of software and devices."""
    together = SOFTWARE | DEVICES | DEVICES_NOW
    return len({None if code in together else code for code in codes})


def _concerns(scene: Scene, ask: Ask, workers: int) -> bool:
    """Whether a label's requirement says anything of these workers; of other requirements that is not known so soon."""
    if Code.LABEL not in ask.codes:
        return True
    key = ask.field.removeprefix("placement.worker_labels.")
    wanted = dict(scene.entry.spec.placement.worker_labels)[key]
    return bool(workers & scene.census.without_label(key, wanted))


def _of_no_code(asks: Sequence[Ask]) -> set[int]:
    return {place for place, ask in enumerate(asks) if not ask.codes}


def _tightened(scene: Scene, asks: Sequence[Ask], one: Set, reaches: Helps) -> Relaxation:
    """The set with the nearest values that still reach the goal: one after the other, the rest at their loosest."""
    spec, changes = scene.entry.spec, []
    gained = 0
    for loosest in loosened(scene, spec, asks, one):
        stand = scene.stand(loosest)
        gained |= stand.compatible & ~scene.standing.compatible | stand.eligible & ~scene.standing.eligible
    for number, place in enumerate(one):
        ask = asks[place]
        stages = ask.stages(spec, scene, gained)

        def reaches_with_the_rest(edited: JobSpec, others: Set = one[number + 1 :]) -> bool:
            return any(map(reaches, loosened(scene, edited, asks, others)))

        at = first_that_helps(stages, reaches_with_the_rest)
        if at is not None:
            step = next(step for step in stages[at] if reaches_with_the_rest(step[0]))
            changes.append(Change(ask.field, ask.label, ask.said(spec), step[1]))
            spec = step[0]
    return measured(scene, tuple(changes), spec)
