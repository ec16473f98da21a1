"""What `gpulayer job status` prints: the answer, how the fleet narrows down, and every candidate beside its reasons."""

from collections.abc import Iterator
from typing import Any

import click

from gpulayer_site.terminal import clip_list, say
from scheduler.core.codec import decision_from_document
from scheduler.core.decision import CandidateGroup, SchedulingDecision, Verdict
from scheduler.core.reasons import Code
from scheduler.core.sentences import group_sentence, note_sentence, sentence

Document = dict[str, Any]
MOST_EXAMPLES = 3
SECONDS = len("2026-11-30T12:00:00")


def print_status(found: Document, document: Document | None, *, every: bool) -> None:
    """The job and its latest decision; `every`: each candidate by itself."""
    _head(found)
    if document is None:
        say(str(found.get("answer") or "no pass has considered it yet"))
        return
    decision = decision_from_document(document)
    _answer(found, document)
    _funnel(document.get("funnel") or ())
    for reason in decision.group_reasons:
        say(group_sentence(reason), indent=2)
    for note in decision.notes:
        say(f"note: {note_sentence(note)}")
    click.echo()
    if every:
        _each_candidate(decision)
    else:
        _groups(decision)


def _head(found: Document) -> None:
    marks = "  simulated: nothing is really run" if found.get("simulated") else ""
    say(f"{found['job_id']}  {found['name']}  {found['state'].replace('_', ' ')}  {found['owner']}{marks}")
    moments = [(word, found.get(f"{word}_at")) for word in ("submitted", "started", "finished")]
    say(", ".join(f"{word} {_instant(moment)}" for word, moment in moments if moment))
    if found.get("worker"):
        devices = ", ".join(str(index) for index in found.get("devices") or ())
        say(f"on {found['worker']}{f', devices {devices}' if devices else ''}")
    if found.get("exit_code") is not None:
        say(f"exit code {found['exit_code']}")
    if found.get("failure_text"):
        say(f"{found['failure_text']} ({found.get('failure_code') or 'failed'})")
    click.echo()


def _instant(text: str) -> str:
    return text[:SECONDS].replace("T", " ") + " UTC"


def _answer(found: Document, document: Document) -> None:
    answer = document.get("answer")
    if isinstance(answer, dict):
        say(str(answer["lead"]))
        for line in answer.get("more") or ():
            say(str(line), indent=2)
    else:
        say(str(found.get("answer") or ""))


def _funnel(stages: Any) -> None:
    """Each stage with its count, and beside it what the step before lost on the way here."""
    if not stages:
        return
    click.echo()
    widest = max(len(str(stage["label"])) for stage in stages)
    for stage in stages:
        losses = ", ".join(f"{loss['count']:,} {loss['label']}" for loss in stage.get("losses") or ())
        line = f"{stage['label']!s:<{widest}}  {stage['count']:>6,}"
        say(f"{line}  less {losses}" if losses else line, indent=2)


def _groups(decision: SchedulingDecision) -> None:
    for group in decision.groups():
        label = _verdict(group.verdict)
        click.echo(f"{label} ({len(group.workers):,})" if len(group.workers) > 1 else label)
        say(clip_list(group.workers), indent=2)
        for line in _group_lines(decision, group):
            say(line, indent=4)


def _group_lines(decision: SchedulingDecision, group: CandidateGroup) -> Iterator[str]:
    """One sentence for each code; where the workers differ in figures, a few of them."""
    said: dict[Code, dict[str, None]] = {code: {} for code in group.codes}
    for worker in group.workers if group.codes else ():
        for reason in decision.candidate(worker).reasons:
            said[reason.code].setdefault(sentence(reason))
    for sentences in said.values():
        yield from list(sentences)[:MOST_EXAMPLES]
        if len(sentences) > MOST_EXAMPLES:
            yield f"… and {len(sentences) - MOST_EXAMPLES:,} more like this (--all shows each)"


def _each_candidate(decision: SchedulingDecision) -> None:
    for candidate in decision.candidates:
        click.echo(f"{candidate.worker}  {_verdict(candidate.verdict)}")
        for reason in candidate.reasons:
            say(sentence(reason), indent=4)


def _verdict(verdict: Verdict) -> str:
    return {
        Verdict.SELECTED: "selected",
        Verdict.ELIGIBLE: "eligible, not needed",
        Verdict.UNAVAILABLE: "could run it, not now",
        Verdict.INCOMPATIBLE: "could never run it",
    }[verdict]
