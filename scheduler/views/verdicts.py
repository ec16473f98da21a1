"""How a candidate's part in a decision is called and drawn, wherever it is shown."""

from __future__ import annotations

from collections.abc import Collection

from scheduler.core import explain
from scheduler.core.decision import Candidate, Verdict
from scheduler.core.reasons import Code
from scheduler.core.words import Clock
from workers.moments import minute, now

PILLS = {
    "selected": ("ok", "Selected"),
    "free": ("free", "Free now"),
    "busy": ("wait", "Fits, not free"),
    "reserved": ("rsv", "Reserved"),
    "never": ("never", "Never fits"),
    "outside": ("none", "Outside target"),
}
"""Segment -> kind and words of its pill."""

_RESERVED = frozenset((Code.RESERVED_UNTIL, Code.RESERVED_FROM))


def segment_of(verdict: Verdict, codes: Collection[Code]) -> str:
    """Which of the pills candidates of this verdict and these reasons have."""
    if verdict is Verdict.INCOMPATIBLE:
        return "outside" if Code.TARGET in codes else "never"
    if verdict is Verdict.UNAVAILABLE:
        return "busy" if _RESERVED.isdisjoint(codes) else "reserved"
    return "selected" if verdict is Verdict.SELECTED else "free"


def reasons_of(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """(tone, sentence) of every reason, in the zone of whoever looks."""
    clock = in_my_zone()
    return tuple(
        (explain.code_tone(reason.code), explain.sentence(reason, clock=clock)) for reason in candidate.reasons
    )  # fmt: skip


def in_my_zone() -> Clock:
    """How instants are said on this page."""
    at = now()
    return lambda moment: minute(moment, now=at)
