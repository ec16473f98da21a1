"""What operators want of workers: no more work for a while, or work again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from scheduler.core.errors import Problem
from scheduler.core.reading import is_printable, quoted
from workers.changes import bump
from workers.models import Event, Intent, Worker
from workers.models.worker import LIVE
from workers.refusals import NotFound, Refused
from workers.services.moves import move_workers

LONGEST_NOTE = 200
MOST_NAMED = 5


def drain(
    *, name: str, note: str, actor: str, now: datetime, until: datetime | None = None, stop: bool = False
) -> Worker:
    """Give the worker no more work; what runs there runs on, at the longest until `until` where `stop` is said.

    Of one that drains already, note and deadline are replaced. Raises NotFound, Refused as `drain_all`.
    """
    drain_all([live_worker(name).pk], note=note, actor=actor, now=now, until=until, stop=stop)
    return live_worker(name)


def undrain(*, name: str, actor: str, now: datetime) -> Worker:
    """Let the worker have work again. Raises NotFound."""
    undrain_all([live_worker(name).pk], actor=actor, now=now)
    return live_worker(name)


@transaction.atomic
def drain_all(
    ids: Sequence[int], *, note: str, actor: str, now: datetime, until: datetime | None = None, stop: bool = False
) -> list[int]:
    """The same for many, by key; returns those of which something changed.

    Raises Refused `drain_deadline` and `note` (422).
    """
    check_deadline(until, stop, now)
    check_note(note)
    live = Worker.objects.filter(LIVE, pk__in=ids)
    rows = {row.pk: row for row in live.select_for_update().order_by("pk")}
    cause = "drain" if until is None else f"drain until {until.isoformat(timespec='minutes')}{', then stop' * stop}"
    active = [pk for pk, row in rows.items() if row.intent == Intent.ACTIVE]
    moved = move_workers(active, Intent.DRAINING, machine="intent", actor=actor, now=now, cause=cause, note=note)
    said = (note, until, stop)
    again = [row for pk, row in rows.items() if pk not in moved and _said(row) != said]
    changed = [*moved, *(row.pk for row in again)]
    Worker.objects.filter(pk__in=changed).update(intent_note=note, drain_deadline=until, drain_stops=stop)
    Event.objects.bulk_create(
        Event(
            at=now, actor=actor, subject_kind="worker", subject=row.name, verb="intent", before=row.intent,
            after=row.intent, cause=cause, detail={"note": note, "note before": row.intent_note},
        )
        for row in again
    )  # fmt: skip
    bump(row.pk for row in again)
    return changed


@transaction.atomic
def undrain_all(ids: Sequence[int], *, actor: str, now: datetime) -> list[int]:
    """Let these workers, by key, have work again; returns those that drained."""
    drained = Worker.objects.filter(LIVE, pk__in=ids, intent__in=(Intent.DRAINING, Intent.DRAINED))
    keys = list(drained.select_for_update().order_by("pk").values_list("pk", flat=True))
    moved = move_workers(keys, Intent.ACTIVE, machine="intent", actor=actor, now=now, cause="undrain")
    Worker.objects.filter(pk__in=moved).update(drain_deadline=None, drain_stops=False)
    return moved


def check_deadline(until: datetime | None, stop: bool, now: datetime) -> None:
    """Raise Refused `drain_deadline` (422) for one that is past, or for stopping without one."""
    problems = []
    if until is not None and until <= now:
        problems.append(Problem("until", until.isoformat(timespec="seconds"), "an instant to come"))
    if stop and until is None:
        problems.append(Problem("stop", "true without a deadline", "`until`, at which its tasks are stopped"))
    if problems:
        raise Refused("drain_deadline", "; ".join(map(str, problems)), status=422, problems=tuple(problems))


def check_note(note: str) -> None:
    """Raise Refused `note` (422) for one that is too long, or not one line of text."""
    found = f"{len(note):,} characters" if len(note) > LONGEST_NOTE else quoted(note)
    if len(note) > LONGEST_NOTE or not is_printable(note):
        expected = f"one line of at most {LONGEST_NOTE} characters, without control or direction characters"
        problem = Problem("note", found, expected)
        raise Refused("note", str(problem), status=422, problems=(problem,))


def live_worker(name: str) -> Worker:
    """The worker of this name that is neither revoked nor retired. Raises NotFound."""
    if "\0" not in name:
        found = Worker.objects.filter(LIVE, name=name).select_related("facts").first()
        if found is not None:
            return found
    raise NotFound(f"no worker {name[:100]!r}", code="no_such_worker")


def live_workers_named(names: Sequence[str]) -> list[Worker]:
    """All of these, by name. Raises NotFound with those that there are not."""
    storable = [name for name in names if "\0" not in name]
    found = {row.name: row for row in Worker.objects.filter(LIVE, name__in=storable).select_related("facts")}
    missing = [name[:100] for name in dict.fromkeys(names) if name not in found]
    if missing:
        told = ", ".join(map(repr, missing[:MOST_NAMED])) + (" and more" if len(missing) > MOST_NAMED else "")
        raise NotFound(f"no worker {told}", code="no_such_worker")
    return [found[name] for name in dict.fromkeys(names)]


def _said(row: Worker) -> tuple[str, datetime | None, bool]:
    return row.intent_note, row.drain_deadline, row.drain_stops
