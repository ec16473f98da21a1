"""Which decisions and passes are kept: the first and the latest of a job, what changed, and what these are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby, pairwise

from scheduler.models import Decision, Kept, SchedulingPass

EVERY = timedelta(minutes=1)
MOST = 200


def kept_decisions(job_pks: Iterable[int]) -> Mapping[int, list[Decision]]:
    """The decisions of these jobs, newest first, without what is large: one query."""
    rows = Decision.objects.filter(job__in=list(job_pks)).order_by("job_id", "-pk")
    light = rows.only("job_id", "made_at", "kept", "outcome")
    return {job: list(decisions) for job, decisions in groupby(light, key=lambda row: row.job_id)}


def kind_of(outcome: str, kept: Sequence[Decision]) -> Kept:
    """What a new decision will be kept as."""
    if not kept:
        return Kept.FIRST
    return Kept.CHANGE if kept[0].outcome == outcome else Kept.OUTCOME


def superseded(kept: Sequence[Decision]) -> Decision | None:
    """The latest one if a new one may take its place: an other change less than a minute after the one before it."""
    if len(kept) < 2 or kept[0].kept != Kept.CHANGE or kept[0].made_at - kept[1].made_at >= EVERY:
        return None
    return kept[0]


def surplus(kept: Sequence[Decision]) -> list[int]:
    """Keys of the decisions to drop so that one more may be kept: the oldest other changes, then the oldest at all."""
    excess = len(kept) + 1 - MOST
    if excess <= 0:
        return []
    oldest_first = sorted(kept, key=lambda row: (row.kept == Kept.FIRST, row.kept != Kept.CHANGE, row.pk))
    return [row.pk for row in oldest_first[:excess]]


def prune_passes() -> int:
    """Delete the passes that no kept decision needs: whole stretches, each from a keyframe up to before the next."""
    keyframes = list(SchedulingPass.objects.filter(keyframe=True).order_by("number").values_list("number", flat=True))
    needed = set(Decision.objects.values_list("pass_row__number", flat=True).distinct())
    deleted = 0
    for first, after in pairwise(keyframes):
        if needed.isdisjoint(range(first, after)):
            count, _ = SchedulingPass.objects.filter(number__gte=first, number__lt=after).delete()
            deleted += count
    return deleted
