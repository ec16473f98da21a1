"""The decision of a job that was in force at one pass: what a link that names a pass shows."""

from __future__ import annotations

from scheduler.models import Decision, Job, SchedulingPass


def decision_at(job: Job, number: int) -> Decision | None:
    """What held at the pass of that number; None before the first decision. Two queries at most.

    A pass that changes nothing writes nothing, and one that changes only figures writes over those of the pass before:
    then the decision is the one in force, with the figures that are kept of it.
    """
    rows = Decision.objects.filter(job=job).select_related("pass_row", "job")
    before = rows.filter(pass_row__number__lte=number).order_by("-pass_row__number").first()
    if before is not None and before.pass_row.number == number:
        return before
    after = rows.filter(pass_row__number__gt=number).order_by("pass_row__number").first()
    return after if after is not None and _held_at(after, number) else before


def _held_at(row: Decision, number: int) -> bool:
    """Whether a decision whose figures are those of a later pass had been made by the pass of that number.

    Where that pass is kept no longer, it had: pages name only passes whose figures a decision had then.
    """
    if not row.refreshed:
        return False
    started = SchedulingPass.objects.filter(number=number).values_list("started_at", flat=True).first()
    return started is None or row.made_at <= started
