"""What the panels about why are made of: lines and cells, worded by the core."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.core import explain
from scheduler.core.blockers import Blocked
from scheduler.core.check_words import result_words
from scheduler.core.reasons import Kind
from scheduler.core.relaxed import Relaxation
from scheduler.core.why_not import CheckLine
from scheduler.core.why_words import change_words, good_for
from scheduler.core.words import both


@dataclass(frozen=True, slots=True)
class Edit:
    """One way to ask for less: what changes, what it is good for, and by what its document is found again."""

    what: str
    good_for: str
    helps: bool
    examples: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class CheckShown:
    """One check of one worker."""

    code: str
    label: str
    field: str
    required: str
    actual: str
    result: str
    status: str
    tone: str

    @property
    def failed(self) -> bool:
        """Whether it stands in the way."""
        return self.status == "failed"


def edits(found: Iterable[Relaxation]) -> tuple[Edit, ...]:
    """Lines of edits."""
    return tuple(Edit(_what(one), good_for(one), one.starts, one.examples, key_of(one)) for one in found)


def key_of(edit: Relaxation) -> str:
    """By what an edit of a decision is found again; another decision may have none of this key."""
    return hashlib.sha256(_what(edit).encode()).hexdigest()[:12]


def _what(edit: Relaxation) -> str:
    return both(map(change_words, edit.changes))


def reasons_in_the_way(blocked: Blocked) -> tuple[tuple[str, str], ...]:
    """(tone, sentence) of everything in the way of one worker."""
    return tuple((explain.code_tone(one.code), one.text) for one in blocked.obstacles)


def check_lines(lines: Iterable[CheckLine], which: str) -> tuple[tuple[str, str, str, tuple[CheckShown, ...]], ...]:
    """(title, tone, icon, lines) by kind of check; `which` is all, failed or asked."""
    wanted = {"failed": ("failed",), "asked": ("failed", "passed")}.get(which)
    bands = (
        (Kind.CAPABILITY, "Capability: could it ever run it?", "never", "ban"),
        (Kind.AVAILABILITY, "Availability: asked only of workers that can run it", "wait", "clock"),
    )
    shown = [line for line in lines if wanted is None or line.status.value in wanted]
    found = [
        (title, tone, icon, tuple(_shown(line) for line in shown if line.code.kind is kind))
        for kind, title, tone, icon in bands
    ]
    return tuple(band for band in found if band[3])


def _shown(line: CheckLine) -> CheckShown:
    return CheckShown(
        code=line.code.text, label=line.label, field=line.field, required=line.required, actual=line.actual,
        result=result_words(line), status=line.status.value, tone=explain.code_tone(line.code),
    )  # fmt: skip
