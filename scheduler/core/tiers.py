"""Which tier runs a job: tried in order, a later one only as the job allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from scheduler.core.decision import Tier, TierStatus
from scheduler.core.gang import Version, can_hold, first_to_fill, group_reasons, members
from scheduler.core.reasons import GroupReason
from scheduler.core.spec import FallbackWhen, Origin, QueueEntry

T = TypeVar("T")
Compatible = Mapping[Origin, Mapping[Version, int]]
"""How many workers of each tier are compatible, by torch version for a gang."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """What became of each tier, and who was chosen: all members or none."""

    tiers: tuple[Tier, ...]
    chosen: tuple[T, ...]
    group_reasons: tuple[GroupReason, ...]


def closed_tiers(entry: QueueEntry, compatible: Compatible) -> frozenset[Origin]:
    """The tiers behind the first that could ever run the job, where only its incapacity would open them."""
    if entry.spec.fallback_when is FallbackWhen.INCOMPATIBLE:
        for place, tier in enumerate(entry.spec.tiers):
            if can_hold(compatible[tier], members(entry.spec)):
                return frozenset(entry.spec.tiers[place + 1 :])
    return frozenset()


def avoided_workers(entry: QueueEntry, without_them: Compatible, closed: frozenset[Origin]) -> frozenset[str]:
    """Those on which the job failed, while an open tier could run it without them."""
    elsewhere = any(
        can_hold(without_them[tier], members(entry.spec)) for tier in entry.spec.tiers if tier not in closed
    )  # fmt: skip
    return frozenset(entry.failed_on) if elsewhere else frozenset()


def could_ever(entry: QueueEntry, compatible: Compatible) -> bool:
    """Whether some tier has enough compatible workers, whatever their availability."""
    return any(can_hold(compatible[tier], members(entry.spec)) for tier in entry.spec.tiers)


def choose(
    entry: QueueEntry,
    compatible: Compatible,
    closed: frozenset[Origin],
    eligible: Callable[[Origin], Iterable[tuple[T, Version]]],
) -> Choice[T]:
    """Try the tiers in order; `eligible` lists a tier's workers that could be taken now, in policy order."""
    needed = members(entry.spec)
    statuses: list[Tier] = []
    reasons: list[GroupReason] = []
    chosen: tuple[T, ...] = ()
    for tier in entry.spec.tiers:
        counts = compatible[tier]
        never = not can_hold(counts, needed)
        if tier in closed and any(counts.values()):
            status = TierStatus.CLOSED
        elif tier in closed or chosen:
            status = TierStatus.NEVER if never else TierStatus.NOT_NEEDED
        else:
            chosen, free = first_to_fill(eligible(tier), needed)
            status = TierStatus.PLACED if chosen else TierStatus.NEVER if never else TierStatus.WAITING
            if entry.spec.distributed and not chosen:
                reasons += group_reasons(tier, counts, free, needed)
        statuses.append(_told(tier, status))
    return Choice(tuple(statuses), chosen, tuple(reasons))


@cache
def _told(tier: Origin, status: TierStatus) -> Tier:
    return Tier(tier.value, status)
