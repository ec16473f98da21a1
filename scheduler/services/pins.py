"""The decision of a job that was in force at one pass: what a link that names a pass shows."""

from __future__ import annotations

from scheduler.models import Decision, Job, Kept, SchedulingPass
from scheduler.services.history import EVERY


def decision_at(job: Job, number: int) -> Decision | None:
    """What held at the pass of that number; None before the first decision. Three queries at most.

    A pass that changes nothing writes nothing, and one that changes only figures writes over those of the pass before:
    then the decision is the one in force, with the figures that are kept of it. Where a decision was replaced within
    the minute, it is the one that took its place.
    """
    rows = Decision.objects.filter(job=job).select_related("pass_row", "job")
    before = rows.filter(pass_row__number__lte=number).order_by("-pass_row__number").first()
    if before is not None and before.pass_row.number == number:
        return before
    after = rows.filter(pass_row__number__gt=number).order_by("pass_row__number").first()
    return after if after is not None and _stands_for(after, before, number) else before


def _stands_for(after: Decision, before: Decision | None, number: int) -> bool:
    """Whether a later decision is what is kept of the pass of that number.

    Its figures were brought up to date since, or it took the place of one that was made within a minute of the one
    before. Where that pass is kept no longer it does: pages name only passes whose figures a decision had then.
    """
    started = SchedulingPass.objects.filter(number=number).values_list("started_at", flat=True).first()
    if started is None or after.refreshed:
        return started is None or after.made_at <= started
    return before is not None and after.kept == Kept.CHANGE and started - before.made_at < EVERY
