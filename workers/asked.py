"""What a form about workers asks for: read once, shown as a what-if, or done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from django.http import QueryDict

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.quantities import parse_size
from scheduler.core.reading import quoted
from workers.label_words import label_words
from workers.local_time import LocalTimeError, read_local
from workers.proposed import Change
from workers.refusals import Refused
from workers.services.intent import check_deadline, check_note
from workers.services.limits import FOREIGN, TASKS, read_limits
from workers.services.operator_labels import read_labels


@dataclass(frozen=True, slots=True)
class Asked:
    """One form as it was filled in. With problems it means nothing."""

    change: Change
    note: str = ""
    until: datetime | None = None
    stop: bool = False
    problems: tuple[Problem, ...] = ()
    filled: Mapping[str, str] = field(default_factory=dict)
    """The fields as they were typed, to be shown again."""

    @property
    def is_empty(self) -> bool:
        """It asks for nothing."""
        return self.change == Change(workers=self.change.workers)


Reads = Callable[[QueryDict, Sequence[str], tzinfo, datetime], Asked]


def labels(data: QueryDict, names: Sequence[str], zone: tzinfo, now: datetime) -> Asked:
    """`label`: any number of `key=value` and `key-`, several to a field on lines of their own."""
    words = [line.strip() for text in data.getlist("label") for line in text.splitlines() if line.strip()]
    filled = {"label": "\n".join(word for word in words if "=" in word or not word.endswith("-"))}
    try:
        pairs, removed = read_labels(*label_words(words))
    except DocumentError as error:
        return Asked(Change(workers=tuple(names)), problems=error.problems, filled=filled)
    return Asked(Change(workers=tuple(names), labels=pairs, unlabels=removed), filled=filled)


def drain(data: QueryDict, names: Sequence[str], zone: tzinfo, now: datetime) -> Asked:
    """`note`, `until` as a clock in the viewer's zone shows it, and `stop`."""
    note, said = data.get("note", "").strip(), data.get("until", "").strip()
    problems = _refused(lambda: check_note(note))
    until: datetime | None = None
    try:
        until = read_local(said, zone) if said else None
    except LocalTimeError as error:
        problems.append(Problem("until", *_parts(error)))
    stop = bool(data.get("stop"))
    if not problems:
        problems += _refused(lambda: check_deadline(until, stop, now))
    change = Change(workers=tuple(names), drain=True)
    return Asked(
        change, note, until, stop, tuple(problems), {"note": note, "until": said, "stop": "on" if stop else ""}
    )


def undrain(data: QueryDict, names: Sequence[str], zone: tzinfo, now: datetime) -> Asked:
    """Nothing more to say."""
    return Asked(Change(workers=tuple(names), drain=False))


def retire(data: QueryDict, names: Sequence[str], zone: tzinfo, now: datetime) -> Asked:
    """Nothing more to say."""
    return Asked(Change(workers=tuple(names), retire=True))


def limits(data: QueryDict, names: Sequence[str], zone: tzinfo, now: datetime) -> Asked:
    """`tasks` and `foreign`; empty: as the agent says."""
    filled = {name: data.get(name, "").strip() for name in ("tasks", "foreign")}
    tasks, foreign = filled["tasks"], filled["foreign"]
    problems = []
    wanted: dict[str, int | None] = {TASKS: None, FOREIGN: None}
    if tasks:
        wanted[TASKS] = int(tasks) if tasks.isascii() and tasks.isdecimal() and len(tasks) <= 9 else -1
    if foreign:
        size = parse_size(_number(foreign), at_least=False)
        wanted[FOREIGN] = size
        if size is None:
            problems.append(Problem("foreign", quoted(foreign), "a size such as 2 GB, or 0 for none"))
    if not problems:
        problems += _document(lambda: read_limits(wanted))
    return Asked(Change(workers=tuple(names), limits=wanted), problems=tuple(problems), filled=filled)


KINDS: Mapping[str, Reads] = {
    "labels": labels, "drain": drain, "undrain": undrain, "retire": retire, "limits": limits,
}  # fmt: skip
"""By the forms' `kind`."""


def _number(text: str) -> str | float:
    """A bare number counts in GB, as everywhere."""
    try:
        return float(text)
    except ValueError:
        return text


def _parts(error: LocalTimeError) -> tuple[str, str]:
    found, _, expected = str(error).removeprefix("found ").partition("; expected ")
    return found, expected or "another time"


def _refused(check: Callable[[], object]) -> list[Problem]:
    try:
        check()
    except Refused as refusal:
        return list(refusal.problems)
    return []


def _document(check: Callable[[], object]) -> list[Problem]:
    try:
        check()
    except DocumentError as error:
        return list(error.problems)
    return []
