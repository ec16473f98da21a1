"""Why, group by group: workers against which the same reasons stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.core import explain
from scheduler.core.decision import CandidateGroup
from scheduler.core.reasons import Code
from scheduler.core.variants import lines, variants
from scheduler.services.recorded import Recorded
from scheduler.views.candidate_rows import FEW
from scheduler.views.verdicts import PILLS, segment_of

MOST_GROUPS = 8
NAMES = 3


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Workers with the same set of reasons."""

    count: int
    tone: str
    pill: tuple[str, str]
    reasons: tuple[tuple[str, str], ...]
    first: str
    others: str
    said: tuple[str, ...]
    """What stands against them with their figures, the commonest first."""


def groups_context(rec: Recorded) -> dict[str, Any]:
    """What `_groups.html` shows; nothing for a handful of workers, which are all listed. Looks at every candidate."""
    if len(rec.fleet.workers) <= FEW:
        return {}
    groups = rec.decision.groups()
    inside = [group for group in groups if Code.TARGET not in group.codes]
    return {
        "groups": _group_rows(rec, inside[:MOST_GROUPS]),
        "more_groups": max(0, len(inside) - MOST_GROUPS),
        "outside": sum(len(group.workers) for group in groups) - sum(len(group.workers) for group in inside),
    }


def _group_rows(rec: Recorded, groups: Sequence[CandidateGroup]) -> list[GroupRow]:
    told = variants(rec.decision, groups)
    return [_group_row(group, lines(said, len(group.workers))) for group, said in zip(groups, told, strict=True)]


def _group_row(group: CandidateGroup, said: tuple[str, ...]) -> GroupRow:
    key = segment_of(group.verdict, group.codes)
    first, *others = group.workers
    rest = len(others) - NAMES
    return GroupRow(
        count=len(group.workers),
        tone={"selected": "ok", "free": "ok", "busy": "wait", "reserved": "rsv", "outside": "none"}.get(key, "never"),
        pill=PILLS[key],
        reasons=tuple((explain.code_tone(code), explain.code_label(code)) for code in group.codes),
        first=first,
        others=", ".join(others[:NAMES]) + (f" and {rest:,} more" if rest > 0 else ""),
        said=said,
    )
