"""Labels as operators set them; they win over what agents state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.parsing_job import labels as read_pairs
from scheduler.core.reading import At, Sink, quoted
from workers.changes import bump
from workers.models import Event, Label, LabelSource, Worker

SYSTEM_KEYS = "gpulayer.dev/"
SYSTEM_REASON = f"keys that begin with {SYSTEM_KEYS} belong to the system; to keep a worker, reserve it"
AT_ONCE = 1_000
"""Workers that are named in one statement."""


@dataclass(frozen=True, slots=True)
class SaidLabel:
    """One key as a worker has it: the value that counts, who says so, and what the agent says instead, if anything."""

    key: str
    value: str
    by_operator: bool
    agents_value: str | None
    set_by: str = ""
    """The operator's name, where it is known."""

    @property
    def is_system(self) -> bool:
        """It belongs to the system, and is nobody's to change."""
        return is_system(self.key)

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


def is_system(key: str) -> bool:
    """Whether this key is the system's own."""
    return key.lower().startswith(SYSTEM_KEYS)


def read_labels(labels: object, removed: Iterable[str] = ()) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels to set and keys to remove, as the core reads labels. Raises `DocumentError` with all that is wrong."""
    sink = Sink()
    top = At(sink)
    pairs = dict(read_pairs(labels, top.below("labels")) or ()) if labels else {}
    gone = tuple(dict(read_pairs(dict.fromkeys(removed, ""), top.below("remove")) or ()))
    for place, keys in (("labels", pairs), ("remove", gone)):
        for key in filter(is_system, keys):
            sink.add(Problem(f"{place}.{key}", "a label of the system", SYSTEM_REASON))
    for key in sorted(pairs.keys() & set(gone)):
        sink.add(Problem(f"remove.{key}", f"{quoted(key)} set and removed at once", "one of the two"))
    if sink.count:
        raise sink.error()
    return pairs, gone


def check_label(key: str, value: str) -> None:
    """Raise `ValidationError` by field for a key or value that no job could ask for."""
    try:
        read_labels({key: value})
    except DocumentError as error:
        about_key = is_system(key) or not key or any(problem.found == quoted(key) for problem in error.problems)
        said = "; ".join(f"found {problem.found}; expected {problem.expected}" for problem in error.problems)
        raise ValidationError({"key" if about_key else "value": said}) from error


def labels_of(worker: Worker) -> list[SaidLabel]:
    """Every label that counts, by key, with who says so. One query."""
    said: dict[str, dict[str, Label]] = {}
    for label in worker.labels.select_related("created_by").order_by("key"):
        said.setdefault(label.key, {})[label.source] = label
    return [_said(key, by_source) for key, by_source in said.items()]


def _said(key: str, by_source: Mapping[str, Label]) -> SaidLabel:
    agents, own = by_source.get(LabelSource.AGENT), by_source.get(LabelSource.OPERATOR)
    counts = own or agents
    assert counts is not None
    author = own.created_by.get_username() if own and own.created_by else ""
    return SaidLabel(key, counts.value, own is not None, agents.value if agents else None, author)


def set_label(*, worker: Worker, key: str, value: str, actor: str, now: datetime, created_by: Any = None) -> Label:
    """Give a worker this label, whatever its agent says. Raises `ValidationError` by field."""
    check_label(key, value)
    change_labels([worker.pk], labels={key: value}, actor=actor, now=now, created_by=created_by)
    return Label.objects.get(worker=worker, key=key, source=LabelSource.OPERATOR)


def remove_label(*, label: Label, actor: str, now: datetime) -> None:
    """Take an operator's label off; what the agent says counts again."""
    change_labels([label.worker_id], removed=[label.key], actor=actor, now=now)


@transaction.atomic
def change_labels(
    worker_ids: Sequence[int], *, labels: Mapping[str, str] | None = None, removed: Iterable[str] = (), actor: str,
    now: datetime, created_by: Any = None,
) -> list[int]:  # fmt: skip
    """Set these labels on all of the workers and take those keys of operators off; return the workers that changed.

    What is said already is not said again. A few statements for every thousand workers. Raises `DocumentError`.
    """
    wanted, gone = read_labels(labels, removed)
    altered: list[int] = []
    for some in _in_parts(sorted(set(worker_ids))):
        # Locked in the order of their keys, so that two who label many at once wait for each other.
        rows = Worker.objects.filter(pk__in=some).select_for_update().order_by("pk")
        names = dict(rows.values_list("pk", "name"))
        altered += _change(names, wanted, gone, actor=actor, now=now, created_by=created_by)
    bump(altered)
    return altered


def _change(
    names: Mapping[int, str], wanted: Mapping[str, str], gone: Sequence[str], *, actor: str, now: datetime,
    created_by: Any,
) -> list[int]:  # fmt: skip
    rows = Label.objects.filter(worker__in=names, key__in=[*wanted, *gone], source=LabelSource.OPERATOR)
    stored = {(row.worker_id, row.key): row for row in rows}
    removed = [row for row in stored.values() if row.key in gone]
    new = [
        Label(worker_id=pk, key=key, value=value, source=LabelSource.OPERATOR, created_by=created_by)
        for pk in names
        for key, value in wanted.items()
        if (pk, key) not in stored
    ]
    changed = [row for row in stored.values() if row.key in wanted and row.value != wanted[row.key]]
    before = {(row.worker_id, row.key): row.value for row in (*removed, *changed)}
    for row in changed:
        row.value, row.created_by = wanted[row.key], created_by
    Label.objects.filter(pk__in=[row.pk for row in removed]).delete()
    Label.objects.bulk_update(changed, ["value", "created_by"], batch_size=AT_ONCE)
    Label.objects.bulk_create(new)
    altered = [*removed, *changed, *new]
    Event.objects.bulk_create(
        _event(names[row.worker_id], row.key, before.get((row.worker_id, row.key)), wanted.get(row.key), actor, now)
        for row in altered
    )
    return sorted({row.worker_id for row in altered})


def _event(worker: str, key: str, before: str | None, after: str | None, actor: str, now: datetime) -> Event:
    return Event(
        at=now, actor=actor, subject_kind="label", subject=worker, verb=f"label {key}"[:60],
        before=(before or "")[:200], after=(after or "")[:200], detail={"key": key, "before": before, "after": after},
    )  # fmt: skip


def _in_parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]
