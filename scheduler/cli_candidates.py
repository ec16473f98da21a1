"""Candidates on a terminal: how the fleet narrows down, and each group or worker beside its reasons."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from gpulayer_site.terminal import clip_list, say
from scheduler.core.decision import SchedulingDecision, Verdict
from scheduler.core.sentences import sentence
from scheduler.core.variants import lines, variants

_VERDICTS = {
    Verdict.SELECTED: "selected",
    Verdict.ELIGIBLE: "eligible, not needed",
    Verdict.UNAVAILABLE: "could run it, not now",
    Verdict.INCOMPATIBLE: "could never run it",
}


def print_funnel(stages: Sequence[Mapping[str, Any]]) -> None:
    """Each stage with its count, and beside it what the step before lost on the way here."""
    if not stages:
        return
    click.echo()
    widest = max(len(str(stage["label"])) for stage in stages)
    for stage in stages:
        losses = ", ".join(f"{loss['count']:,} {loss['label']}" for loss in stage.get("losses") or ())
        line = f"{stage['label']!s:<{widest}}  {stage['count']:>6,}"
        say(f"{line}  less {losses}" if losses else line, indent=2)


def print_groups(decision: SchedulingDecision, *, each: str = "--all") -> None:
    """Workers with the same set of reasons, together; `each` names the option that shows every worker."""
    groups = decision.groups()
    for group, by_code in zip(groups, variants(decision, groups), strict=True):
        label, count = _VERDICTS[group.verdict], len(group.workers)
        click.echo(f"{label} ({count:,})" if count > 1 else label)
        say(clip_list(group.workers), indent=2)
        for line in lines(by_code, count):
            say(line, indent=4)
    click.echo(f"{each} shows every worker by itself")


def print_each(decision: SchedulingDecision) -> None:
    """Every worker by itself."""
    for candidate in decision.candidates:
        click.echo(f"{candidate.worker}  {_VERDICTS[candidate.verdict]}")
        for reason in candidate.reasons:
            say(sentence(reason), indent=4)
