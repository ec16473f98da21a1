"""What came of one check, and where a worker that passed them all stands, in a few words."""

from __future__ import annotations

from collections.abc import Collection

from scheduler.core.checklist import NOT_ABLE, NOT_STATED, Status
from scheduler.core.labels import code_tone
from scheduler.core.reasons import Kind
from scheduler.core.why_not import CheckLine, WhyNot
from scheduler.core.words import devices


def result_words(line: CheckLine) -> str:
    """`✓ passed`, `✗ never fits`, `✗ not now`, `✗ until it ends`, `? unknown: failed`, or why it was not asked."""
    if line.status is Status.PASSED:
        return "✓ passed"
    if line.status is Status.NOT_ASKED:
        return f"– {_SHORT.get(line.why_not_asked, line.why_not_asked)}"
    if line.unknown:
        return "? unknown: failed"
    if line.code.kind is Kind.CAPABILITY:
        return "✗ never fits"
    return "✗ until it ends" if code_tone(line.code) == "rsv" else "✗ not now"


_SHORT = {NOT_ABLE: "not asked", NOT_STATED: "not stated"}
"""Where a heading or the empty requirement beside it says the rest."""


def able_words(place: int | None, given: Collection[int], *, selected: bool) -> str:
    """Of a worker that nothing stands against: `number 1 in policy order; devices 9 and 10`."""
    order = f"number {place:,} in policy order" if place else "in policy order"
    if selected:
        return f"{order}; {devices(tuple(given))}" if given else order
    return f"could run it now; {order}" if place else "could run it now"


def remedies_lead(found: WhyNot) -> str:
    """That every remedy of a worker is needed, where there are several."""
    failed = len(found.on_the_worker)
    if failed < 2:
        return ""
    both = failed == 2
    return f"{'Both' if both else f'All {failed:,}'} together would do; {'neither' if both else 'none'} alone does."
