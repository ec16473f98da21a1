"""Decisions as rows: new where something changed, moved on where only figures did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import OuterRef, Subquery
from django.db.models.fields.json import KT

from scheduler.models import Decision, Job, Kept, SchedulingPass
from scheduler.services.history import kept_decisions, kind_of, superseded, surplus
from scheduler.services.plans import Act, Plan

_EVIDENCE = ("pass_row", "position", "digest", "summary", "holders", "failed_on", "seen_at")
_WHOLE = (*_EVIDENCE, "outcome", "kept", "fingerprint", "made_at")


def write_decisions(plans: Sequence[Plan], *, pass_row: SchedulingPass, now: datetime) -> None:
    """Write what these plans decided, keeping of each job what is to be kept. A handful of queries for them all."""
    kept = kept_decisions(plan.pk for plan in plans)
    first_passes = _first_passes(kept, plans)
    new: list[Decision] = []
    refreshed: list[Decision] = []
    replaced: list[Decision] = []
    dropped: list[int] = []
    for plan in plans:
        earlier = kept.get(plan.pk, [])
        old = earlier[0] if plan.act is Act.REFRESH and earlier else superseded(earlier)
        row = _row(plan, pass_row, kind_of(plan.outcome, earlier), now)
        row.summary |= {"pass": first_passes.get(old.pk) if old and plan.act is Act.REFRESH else pass_row.number}
        if old is None:
            new.append(row)
            dropped += surplus(earlier)
        else:
            row.pk = old.pk
            (refreshed if plan.act is Act.REFRESH else replaced).append(row)
    _write_over(refreshed, _EVIDENCE)
    _write_over(replaced, _WHOLE)
    Decision.objects.filter(pk__in=dropped).delete()
    Decision.objects.bulk_create(new)
    _point_to_latest([row.job_id for row in new])


def _write_over(rows: Sequence[Decision], fields: Sequence[str]) -> None:
    """Update rows that are there, in one statement; `bulk_update` takes ten times as long for a thousand of them."""
    Decision.objects.bulk_create(rows, update_conflicts=True, unique_fields=["pk"], update_fields=fields)


def _row(plan: Plan, pass_row: SchedulingPass, kept: Kept, now: datetime) -> Decision:
    return Decision(
        job_id=plan.pk,
        pass_row=pass_row,
        position=plan.position,
        outcome=plan.outcome,
        kept=kept,
        fingerprint=plan.fingerprint,
        digest=plan.digest,
        summary=dict(plan.summary),
        holders=list(plan.entry.holders),
        failed_on=list(plan.entry.failed_on),
        made_at=now,
        seen_at=pass_row.started_at if plan.act is not Act.REFRESH else now,
    )


def _first_passes(kept: Mapping[int, Sequence[Decision]], plans: Sequence[Plan]) -> dict[int, int | None]:
    """By the decisions that are brought up to date: the number of the pass that first decided so, where it is kept."""
    latest = [kept[plan.pk][0].pk for plan in plans if plan.act is Act.REFRESH and kept.get(plan.pk)]
    if not latest:
        return {}
    rows = Decision.objects.filter(pk__in=latest).annotate(first=KT("summary__pass")).values_list("pk", "first")
    return {key: int(first) if first is not None else None for key, first in rows}


def _point_to_latest(jobs: Sequence[int]) -> None:
    """Make each of these jobs name its newest decision."""
    newest = Decision.objects.filter(job=OuterRef("pk")).order_by("-pk").values("pk")
    Job.objects.filter(pk__in=jobs).update(decision=Subquery(newest[:1]))
