"""The leading sentence of a decision that no set of workers could carry out, naming the smallest obstacle."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.core.answers import Said, capital, workers_in
from scheduler.core.capability import CAPABILITY
from scheduler.core.checklist import why_not_asked
from scheduler.core.decision import CandidateGroup, SchedulingDecision, Verdict
from scheduler.core.labels import code_label
from scheduler.core.quantities import size
from scheduler.core.reasons import Code, Reason
from scheduler.core.sentences import group_sentence
from scheduler.core.spec import QueueEntry
from scheduler.core.wants import wanted
from scheduler.core.words import agrees, counted, either

_FAILED_BEFORE = {Code.PYTHON: (Code.ENVIRONMENT,), Code.FRAMEWORK: (Code.ENVIRONMENT,)} | {
    code: (Code.GPU_COUNT, Code.GPU_MIG)
    for code in Code
    if code.text.startswith("gpu_") and code not in (Code.GPU_COUNT, Code.GPU_MIG)
}
"""A worker that fails one of these does not have what the check asks for either, which then isn't asked."""


def why_never(entry: QueueEntry, decision: SchedulingDecision) -> Said:
    """Why no known worker could ever run it: what none has, or what the nearest lack."""
    groups = decision.groups()
    if not groups:
        return Said("there are no workers yet", (), "no workers yet")
    tiers = either(entry.spec.tiers)
    inside = [group for group in groups if Code.TARGET not in group.codes]
    if not inside:
        return Said(f"no worker is {tiers}; {workers_in(groups):,} elsewhere", (), f"no worker is {tiers}")
    if any(group.verdict is not Verdict.INCOMPATIBLE for group in inside):
        return _gang_never(decision)
    return _nearest(entry, decision, inside, tiers)


def _gang_never(decision: SchedulingDecision) -> Said:
    """Some workers can run a member each, but never enough of them together."""
    best = max(decision.group_reasons, key=lambda reason: reason.compatible)
    version = f" with torch {best.torch}" if best.torch else ""
    lead = f"a gang of {best.needed:,} needs {best.needed:,} workers of one target and torch version"
    lead += f"; the most are {best.compatible:,}{version}"
    more = tuple(capital(group_sentence(reason)) for reason in decision.group_reasons)
    return Said(lead, more, f"gang: {best.compatible:,} of {best.needed:,} workers fit")


def _nearest(entry: QueueEntry, decision: SchedulingDecision, inside: Sequence[CandidateGroup], tiers: str) -> Said:
    fewest = min(len(group.codes) for group in inside)
    nearest = [group for group in inside if len(group.codes) == fewest]
    codes = max(nearest, key=lambda group: (not _hides(group, entry), len(group.workers), group.codes[0].text)).codes
    lack_it = [group for group in nearest if group.codes == codes]
    total, few = workers_in(inside), workers_in(lack_it)
    labels = ", ".join(code_label(code) for code in codes)
    if fewest > 1:
        lead = f"none of {total:,} {tiers} workers meets every requirement"
        example = lack_it[0].workers[0]
        more = f"The nearest, such as {example}, {agrees(few, 'fails', 'fail')} {fewest} checks: {labels}."
        return Said(lead, (more,), f"none of {total:,} meets every requirement")
    what, code = wanted(codes[0], entry.spec), codes[0]
    if all(_lacks(group, code) for group in inside):
        facts = _figures(code, decision, inside)
        return Said(f"no {tiers} worker has {what}{facts}", _all_fail(total), _short(f"no worker has {what}", code))
    lacking = f"{few:,} {agrees(few, 'lacks', 'lack')} only {what}"
    lead = f"none of {total:,} {tiers} workers meets every requirement; {lacking}"
    return Said(f"{lead}{_figures(code, decision, lack_it)}", (), _short(f"{few:,} lack only {what}", code))


def _hides(group: CandidateGroup, entry: QueueEntry) -> bool:
    """Whether these workers may lack more than they were asked for: what they fail keeps other checks unasked."""
    return any(
        not why_not_asked(code, entry, ()) and why_not_asked(code, entry, group.codes)
        for code in CAPABILITY
        if code not in (Code.GPU_MIG, Code.GPU_COMBINATION)
    )


def _lacks(group: CandidateGroup, code: Code) -> bool:
    return code in group.codes or any(before in group.codes for before in _FAILED_BEFORE.get(code, ()))


def _all_fail(total: int) -> tuple[str, ...]:
    return (f"Waiting will not help: {total:,} of {counted(total, 'worker')} in the targets can never run it.",)


def _short(text: str, code: Code) -> str:
    """At most eight words, else the name of the check."""
    brief = text.replace(" with ≥", " ≥").replace(" each", "")
    return brief if len(brief.split()) <= 8 else f"never fits: {code_label(code)}"


def _figures(code: Code, decision: SchedulingDecision, inside: Sequence[CandidateGroup]) -> str:
    """How close the closest comes, and how many are not known."""
    there = {worker for group in inside if code in group.codes for worker in group.workers}
    reasons = [
        reason
        for candidate in decision.evidence.candidates()
        for reason in candidate.reasons
        if reason.code is code and candidate.worker in there
    ]
    unknown = sum(reason.unknown for reason in reasons)
    facts = [text for text in (_best(code, reasons), f"{unknown:,} unknown" if unknown else "") if text]
    return f" ({', '.join(facts)})" if facts else ""


def _best(code: Code, reasons: list[Reason]) -> str:
    best = max((reason.enough_at for reason in reasons if isinstance(reason.enough_at, int)), default=None)
    if best is None:
        return ""
    if code in (Code.GPU_MEMORY, Code.MEMORY, Code.DISK):
        return f"the most is {size(best)}"
    if code in (Code.GPU_COUNT, Code.GPU_MIG):
        return f"the most is {best:,}"
    return ""
