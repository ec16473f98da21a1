"""Why this worker and not the next: the policy's order among those that could take the job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from scheduler.core.decision import SchedulingDecision
from scheduler.core.matching import free_devices
from scheduler.core.policies import Key, memory_of, policy_key
from scheduler.core.quantities import sizes
from scheduler.core.scene import Scene
from scheduler.core.spec import Policy

MOST_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One worker's place in the policy's order."""

    place: int
    """From 1."""
    worker: str
    tier: str
    selected: bool
    key: Key
    free_memory: int | None
    """Bytes of the free devices that qualify, as reported; None where one is unknown or no device is asked for."""
    why: str
    """What puts it behind the one before; of the first, why nobody is before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyThis:
    """The first few in the order, and whom the other policy would have taken."""

    policy: Policy
    order: tuple[Ranked, ...]
    eligible: int
    """How many could have taken it."""
    other_policy: Policy
    other_choice: tuple[str, ...]
    """Empty where the job is not placed."""


def why_this(scene: Scene, decision: SchedulingDecision) -> WhyThis:
    """The order that the policy puts the free workers in, chosen ones and next best, whether or not it was placed."""
    spec = scene.entry.spec
    chosen = {place.worker for place in decision.assignments}
    ranked: list[Ranked] = []
    for worker in islice(scene.in_order(scene.standing), max(MOST_SHOWN, len(chosen) + 1)):
        ranked.append(_ranked(scene, worker, worker in chosen, ranked[-1] if ranked else None))
    other = Policy.MOST_FREE_MEMORY if spec.policy is Policy.FIRST_FIT else Policy.FIRST_FIT
    choice = scene.stand(replace(spec, policy=other)).choice.chosen if chosen else ()
    return WhyThis(
        policy=spec.policy, order=tuple(ranked), eligible=scene.standing.eligible.bit_count(), other_policy=other,
        other_choice=tuple(scene.census.roster.ids[rank] for rank in choice),
    )  # fmt: skip


def _ranked(scene: Scene, worker: str, selected: bool, before: Ranked | None) -> Ranked:
    view = scene.view(worker)
    asks_devices = bool(scene.entry.spec.resources.gpus)
    key = policy_key(scene.entry, view)
    ranked = Ranked(
        place=before.place + 1 if before else 1,
        worker=worker,
        tier=view.facts.origin.value,
        selected=selected,
        key=key,
        free_memory=memory_of(free_devices(scene.entry, view)) if asks_devices else None,
        why="",
    )
    return replace(ranked, why=_why(ranked, before))


def _why(ranked: Ranked, before: Ranked | None) -> str:
    if before is None:
        return "first in the policy's order"
    if ranked.tier != before.tier:
        return f"{ranked.tier} comes after {before.tier} among the targets"
    if len(ranked.key) == 1:
        return f"its id comes after {before.worker}"
    mine, others = ranked.key[0], before.key[0]
    if mine == others:
        return f"as much free memory as {before.worker}, and its id comes after"
    if not isinstance(mine, int) or not isinstance(others, int):
        return "its free memory is unknown, which comes last"
    less, more = sizes(mine, others)
    return f"{less} free, less than the {more} of {before.worker}"
