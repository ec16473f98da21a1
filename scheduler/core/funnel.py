"""How all known workers became the chosen ones, step by step; every loss counted once, by its first reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.core.decision import CandidateGroup, SchedulingDecision, Verdict
from scheduler.core.labels import code_label, code_tone
from scheduler.core.reasons import ORDER, Code
from scheduler.core.spec import QueueEntry
from scheduler.core.words import either, names


@dataclass(frozen=True, slots=True)
class Loss:
    """Workers that did not pass a stage, by one cause."""

    label: str
    count: int
    tone: str
    """`never`, `wait`, `rsv` or `none`."""
    key: str
    """The code of the cause; `eligible` for those that were merely not chosen."""


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """How many workers got as far as this, and who was lost on the way from the stage before."""

    key: str
    """`workers`, `tier`, `compatible`, `available`, for a gang `one_torch`, `selected`."""
    label: str
    count: int
    losses: tuple[Loss, ...] = ()


def funnel(entry: QueueEntry, decision: SchedulingDecision) -> tuple[FunnelStage, ...]:
    """From every known worker to those selected."""
    groups = decision.groups()
    outside = [group for group in groups if Code.TARGET in group.codes]
    never = [group for group in groups if group.verdict is Verdict.INCOMPATIBLE and Code.TARGET not in group.codes]
    not_now = [group for group in groups if group.verdict is Verdict.UNAVAILABLE]
    known, tiers = _size(groups), either(entry.spec.tiers)
    in_tier = known - _size(outside)
    fit = in_tier - _size(never)
    free = fit - _size(not_now)
    return (
        FunnelStage("workers", "workers known", known),
        FunnelStage("tier", f"in the target: {tiers}", in_tier, _losses(outside)),
        FunnelStage("compatible", "can run it (capability)", fit, _losses(never)),
        FunnelStage("available", "free now (availability)", free, _losses(not_now)),
        *_chosen(entry, decision, free),
    )


def _chosen(entry: QueueEntry, decision: SchedulingDecision, free: int) -> tuple[FunnelStage, ...]:
    """The last stage; for a gang, before it, how many of the free ones share one torch version."""
    selected = len(decision.assignments)
    who = f"selected: {names(place.worker for place in decision.assignments)}" if selected else "selected"
    if entry.spec.distributed is None:
        return (FunnelStage("selected", who, selected, _rest("later in policy order", free - selected)),)
    together = selected or max((reason.free for reason in decision.group_reasons), default=0)
    needed = entry.spec.distributed.num_workers
    share = FunnelStage(
        "one_torch",
        f"share one torch version; {needed:,} needed",
        together,
        _rest("free, but with another torch version, in another target or later in policy order", free - together),
    )
    lost = _rest("free, but a gang starts complete or not at all", together - selected)
    return (share, FunnelStage("selected", who, selected, lost))


def _rest(label: str, count: int) -> tuple[Loss, ...]:
    return (Loss(label, count, "none", "eligible"),) if count > 0 else ()


def _losses(groups: Iterable[CandidateGroup]) -> tuple[Loss, ...]:
    """By the first reason of each worker, in the order of the checks, so that losses sum up."""
    tally: Counter[Code] = Counter()
    for group in groups:
        first = Code.TARGET if Code.TARGET in group.codes else group.codes[0]
        tally[first] += len(group.workers)
    return tuple(
        Loss(code_label(code), tally[code], "none" if code is Code.TARGET else code_tone(code), code.text)
        for code in sorted(tally, key=ORDER.__getitem__)
    )


def _size(groups: Iterable[CandidateGroup]) -> int:
    return sum(len(group.workers) for group in groups)
