"""How a job's decisions followed each other, in words: from the numbers kept with them, and what set them off."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.core.decision import Verdict
from scheduler.core.difference import Difference
from scheduler.core.words import both, counted

STEPS = {
    "workers": "workers known",
    "tier": "in the target",
    "compatible": "can run it",
    "available": "free now",
    "one_torch": "of one torch version",
    "selected": "selected",
}
"""The steps of the funnel in their order, in short."""
MOST_CAUSES = 3


def steps_words(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """`can run it 82 → 83, free now 0 → 6`; empty where no number of a step changed."""
    return ", ".join(
        f"{label} {before[key]:,} → {after[key]:,}"
        for key, label in STEPS.items()
        if key in before and key in after and before[key] != after[key]
    )


def first_words(steps: Mapping[str, int]) -> str:
    """`83 of 240 in the target can run it, 0 free`, of a decision that none came before."""
    if not {"tier", "compatible", "available"}.issubset(steps):
        return ""
    return f"{steps['compatible']:,} of {steps['tier']:,} in the target can run it, {steps['available']:,} free now"


def near_words(free: int, needed: int, unit: str) -> str:
    """`best is 5 of 8 devices free on one worker`."""
    where = "workers of one torch version free" if unit == "workers" else "devices free on one worker"
    return f"best is {free:,} of {needed:,} {where}"


def nearness_words(lowest: int, highest: int, last: int, needed: int, unit: str, since: str) -> str:
    """What a chart of it shows, for those who do not see it."""
    what = "free workers of one torch version" if unit == "workers" else "free devices on any one worker that fits"
    between = f"{lowest:,}" if lowest == highest else f"between {lowest:,} and {highest:,}"
    return f"Most {what}: {between} since {since}, {last:,} at the last decision; the job needs {needed:,}"


def confirmed_words(passes: int) -> str:
    """`confirmed by the next 373 passes`; empty where none came between."""
    return f"confirmed by the next {counted(passes, 'pass', 'passes')}" if passes > 0 else ""


def trigger_words(found: Difference) -> str:
    """`j-7e1 released devices 0 and 1; 9 candidates changed`: through what the later decision differs."""
    if found.is_empty:
        return ""
    first = sorted(found.changed, key=lambda one: (one.after is not Verdict.SELECTED, one.before == one.after))
    told = dict.fromkeys(cause for one in first for cause in (one.causes or (one.headline,)))
    causes = list(told)[:MOST_CAUSES]
    more = [counted(len(told) - len(causes), "more change")] if len(told) > len(causes) else []
    changed = f"{counted(len(found.changed), 'candidate')} changed"
    return f"{both([*causes, *more])}; {changed}" if causes else changed
