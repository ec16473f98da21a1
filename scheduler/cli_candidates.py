"""Candidates on a terminal: how the fleet narrows down, and each group or worker beside its reasons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from gpulayer_site.terminal import clip_list, say
from scheduler.core.decision import CandidateGroup, SchedulingDecision, Verdict
from scheduler.core.reasons import ORDER
from scheduler.core.sentences import sentence

MOST_EXAMPLES = 3
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
    for group in decision.groups():
        label = _VERDICTS[group.verdict]
        click.echo(f"{label} ({len(group.workers):,})" if len(group.workers) > 1 else label)
        say(clip_list(group.workers), indent=2)
        for line in _group_lines(decision, group, each):
            say(line, indent=4)


def print_each(decision: SchedulingDecision) -> None:
    """Every worker by itself."""
    for candidate in decision.candidates:
        click.echo(f"{candidate.worker}  {_VERDICTS[candidate.verdict]}")
        for reason in candidate.reasons:
            say(sentence(reason), indent=4)


def _group_lines(decision: SchedulingDecision, group: CandidateGroup, each: str) -> Iterator[str]:
    """One sentence for each code; where the workers differ in figures, a few of them. Unknowns are told apart."""
    said: dict[tuple[int, bool], dict[str, None]] = {}
    for worker in group.workers if group.codes else ():
        for reason in decision.candidate(worker).reasons:
            said.setdefault((ORDER[reason.code], reason.unknown), {}).setdefault(sentence(reason))
    for _, sentences in sorted(said.items()):
        yield from list(sentences)[:MOST_EXAMPLES]
        if len(sentences) > MOST_EXAMPLES:
            yield f"… and {len(sentences) - MOST_EXAMPLES:,} more like this ({each} shows each)"
