"""Limits that operators set over what a worker's agent says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from scheduler.core.errors import DocumentError
from scheduler.core.fleet import DEFAULT_FOREIGN_ALLOWANCE_BYTES
from scheduler.core.parsing import parse_worker_facts
from scheduler.core.parsing_worker import MOST_TASKS
from scheduler.core.quantities import MOST_BYTES, size
from scheduler.core.readers import whole
from scheduler.core.reading import At, Section, Sink
from workers.changes import bump
from workers.models import Event, Worker
from workers.models.worker import LIVE

TASKS, FOREIGN = "max_concurrent_tasks", "foreign_allowance_bytes"
LIMITS = (TASKS, FOREIGN)
_READERS = {TASKS: whole(0, MOST_TASKS), FOREIGN: whole(0, MOST_BYTES)}


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit in words: what counts, and what the agent says where an operator says something else."""

    name: str
    label: str
    value: str
    by_operator: bool
    agents: str


def read_limits(document: object) -> dict[str, int | None]:
    """Limits to set, and with None those to leave to the agent again. Raises `DocumentError` with all that is wrong."""
    sink = Sink()
    section = Section(document, At(sink, "limits", At(sink)), LIMITS)
    said = document if isinstance(document, Mapping) else {}
    found = {name: section.read(name, reader) for name, reader in _READERS.items() if name in said}
    if sink.count:
        raise sink.error()
    return found


@transaction.atomic
def set_limits(ids: Sequence[int], *, limits: Mapping[str, int | None], actor: str, now: datetime) -> list[int]:
    """Set these limits of workers, by key; the others stay. Returns those that changed. Raises `DocumentError`."""
    wanted = read_limits(limits)
    rows = list(Worker.objects.filter(LIVE, pk__in=ids).select_for_update().order_by("pk"))
    events, changed = [], []
    for row in rows:
        before = dict(row.limits)
        row.limits = applied(before, wanted)
        if row.limits != before:
            changed.append(row)
            events.append(_event(row, before, actor, now))
    Worker.objects.bulk_update(changed, ["limits"], batch_size=500)
    Event.objects.bulk_create(events)
    bump(row.pk for row in changed)
    return [row.pk for row in changed]


def applied(before: Mapping[str, int], wanted: Mapping[str, int | None]) -> dict[str, int]:
    """What an operator's limits are after this."""
    after: dict[str, int | None] = {**before, **wanted}
    return {name: value for name, value in after.items() if value is not None}


def limits_of(worker: Worker) -> list[Limit]:
    """Every limit, what counts beside what the agent says."""
    agents = _agents_words(worker)
    own: dict[str, int] = worker.limits
    return [
        Limit(name, label, _in_words(name, own.get(name)) if name in own else agents[name], name in own, agents[name])
        for name, label in ((TASKS, "Tasks at once"), (FOREIGN, "Use outside gpulayer"))
    ]


def _agents_words(worker: Worker) -> dict[str, str]:
    tasks: int | None = None
    foreign: int | None = None
    if worker.facts is not None:
        try:
            facts = parse_worker_facts(worker.facts.document)
            tasks, foreign = facts.max_concurrent_tasks, facts.foreign_allowance_bytes
        except DocumentError:
            pass  # an old row that is not read any more: its agent's word is not known
    return {TASKS: _in_words(TASKS, tasks), FOREIGN: _in_words(FOREIGN, foreign)}


def _in_words(name: str, value: int | None) -> str:
    if name == TASKS:
        return "one per usable GPU, at least 1" if value is None else f"{value:,}"
    return f"{size(DEFAULT_FOREIGN_ALLOWANCE_BYTES if value is None else value)} a device"


def _event(row: Worker, before: Mapping[str, int], actor: str, now: datetime) -> Event:
    return Event(
        at=now, actor=actor, subject_kind="worker", subject=row.name, verb="limits", before=_told(before),
        after=_told(row.limits), cause="set by an operator", detail={"before": before, "after": row.limits},
    )  # fmt: skip


def _told(limits: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {limits[name]}" for name in LIMITS if name in limits) or "as the agent says"
