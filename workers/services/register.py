"""Registrations: a worker says what it is and which boot of it speaks; it gets the epoch of its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from scheduler.core.errors import DocumentError
from workers.changes import bump
from workers.models import Credential, Event, Health, Intent, Liveness, Worker, WorkerFacts
from workers.models.worker import LIVE
from workers.refusals import NotFound, Refused
from workers.services.devices import sync_devices
from workers.services.differences import differences
from workers.services.enrol import check_protocol, is_alive
from workers.services.facts import Reported, read_report
from workers.services.instances import Standing, event, followed, next_seq, standing
from workers.services.labels import sync_labels
from workers.services.liveness import next_in
from workers.services.moves import move_workers

UNREAD = "its devices could not be read"
REVIEW = "it has less CPU or RAM than was accepted: repair it, or accept what it has now"
STATED = "stated by its document"


@dataclass(frozen=True, slots=True)
class Registration:
    """One worker's registration as it came; `document` is its worker document."""

    worker: str
    boot_id: str
    protocols: tuple[int, ...]
    document: object
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Why what is missing in the document is, by its place there."""
    instance: str = ""
    """One run of its agent; empty where the agent does not say."""
    seq: int | None = None
    """Counted together with its heartbeats; None where the agent does not."""
    host: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What a registration gains: the epoch that every later report carries."""

    worker_id: int
    worker: str
    epoch: int
    simulated: bool
    standing: Standing
    """A registration that is old did nothing."""


Result = Session | Refused


@transaction.atomic
def register(*, credential: Credential, registrations: Sequence[Registration], now: datetime) -> list[Result]:
    """Take registrations at a fixed number of queries; one that is refused does not hold up the others.

    The same boot gets the same epoch. A second machine that uses a live worker's credential gets `machine_conflict`.
    Raises Refused when one worker is named twice.
    """
    if len({one.worker for one in registrations}) < len(registrations):
        raise Refused("name_twice", "each worker may be named once", status=422)
    rows = _own_workers(credential, [one.worker for one in registrations])
    late = followed(rows, registrations)
    stood = {one.worker: standing(rows[one.worker], one) for one in registrations if one.worker in rows}
    results = [_judged(rows.get(one.worker), one, late, now) for one in registrations]
    taken = [
        (rows[one.worker], one, result)
        for one, result in zip(registrations, results, strict=True)
        if isinstance(result, Reported) and not stood[one.worker].is_old
    ]
    _record_conflicts(registrations, results, now)
    if taken:
        _take(taken, now)
    return [
        _session(rows[one.worker], stood[one.worker]) if isinstance(result, Reported) else result
        for one, result in zip(registrations, results, strict=True)
    ]


def _session(row: Worker, standing: Standing) -> Session:
    return Session(row.pk, row.name, row.epoch, row.simulated, standing)


Taken = tuple[Worker, Registration, Reported]


def _own_workers(credential: Credential, names: list[str]) -> dict[str, Worker]:
    own = Worker.objects.filter(LIVE, credential=credential, name__in=names)
    rows = own.select_related("facts").select_for_update(of=("self",)).order_by("pk")
    return {row.name: row for row in rows}


def _judged(
    row: Worker | None, one: Registration, late: frozenset[tuple[str, str]], now: datetime
) -> Reported | Refused:
    if row is None:
        return NotFound(f"no worker {one.worker!r} with this credential", code="no_such_worker")
    try:
        check_protocol(one.protocols)
        if (one.worker, one.instance) in late:
            return Refused("stale_instance", f"a later run of the agent speaks as {row.name!r}")
        if not row.simulated and row.boot_id not in ("", one.boot_id) and is_alive(row, now):
            return Refused("machine_conflict", f"another machine speaks as {row.name!r} at this moment")
        return read_report(row, one.document)
    except Refused as refusal:
        return refusal
    except DocumentError as error:
        return Refused("facts_invalid", "the facts are not accepted", status=422, problems=error.problems)


def _record_conflicts(asked: Iterable[Registration], results: Iterable[object], now: datetime) -> None:
    Event.objects.bulk_create(
        Event(
            at=now, actor=f"worker:{one.worker}", subject_kind="worker", subject=one.worker, verb="machine_conflict",
            cause="a second machine used its credential", detail={"boot_id": one.boot_id},
        )
        for one, result in zip(asked, results, strict=True)
        if isinstance(result, Refused) and result.code == "machine_conflict"
    )  # fmt: skip


def _take(taken: Sequence[Taken], now: datetime) -> None:
    news = _new_facts(taken, now)
    altered = {row.pk for row, _, _ in taken if row.pk in news}
    altered |= sync_devices({row.pk: (report.view.facts.devices or (), report.missing) for row, _, report in taken})
    altered |= sync_labels({row.pk: dict(report.view.facts.labels) for row, _, report in taken})
    _write_rows(taken, news, now)
    _move(taken, now)
    bump(altered)


def _new_facts(taken: Sequence[Taken], now: datetime) -> Mapping[int, WorkerFacts]:
    """New versions, by worker, where the facts are not those it has already."""
    return {
        row.worker_id: row
        for row in WorkerFacts.objects.bulk_create(
            WorkerFacts(
                worker=row,
                number=row.facts.number + 1 if row.facts else 1,
                document=report.document,
                digest=report.digest,
                created_at=now,
            )
            for row, _, report in taken
            if row.facts is None or row.facts.digest != report.digest
        )
    }


def _write_rows(taken: Sequence[Taken], news: Mapping[int, WorkerFacts], now: datetime) -> None:
    paces = {simulated: next_in(simulated=simulated) for simulated in {row.simulated for row, _, _ in taken}}
    events = []
    for row, one, report in taken:
        before = row.epoch
        if row.boot_id != one.boot_id or row.epoch == 0:
            row.epoch += 1
        if run := event(row, one, now=now):
            events.append(run)
        row.seq = next_seq(row, one)
        row.boot_id, row.instance, row.last_seen_at = one.boot_id, one.instance, now
        row.host = dict(one.host) if one.host is not None else row.host
        row.heartbeat_seconds = paces[row.simulated]
        row.facts = news.get(row.pk, row.facts)
        row.unknown = dict(one.unknown)
        if row.offered_facts != report.offered:
            row.offered_facts, row.offered_at = report.offered, now if report.offered else None
            events += [_offered(row, now)] if report.offered else []
        if row.epoch != before or row.pk in news:
            events.append(_registered(row, before, now))
    fields: list[str] = ["epoch", "boot_id", "seq", "last_seen_at", "heartbeat_seconds", "facts", "unknown"]
    fields += ["offered_facts", "offered_at", "instance", "host"]
    Worker.objects.bulk_update([row for row, _, _ in taken], fields)
    Event.objects.bulk_create(events)


def _registered(row: Worker, before: int, now: datetime) -> Event:
    detail: dict[str, Any] = {"facts": row.facts.number} if row.facts else {}
    return Event(
        at=now, actor=f"worker:{row.name}", subject_kind="worker", subject=row.name, verb="epoch",
        before=str(before), after=str(row.epoch), cause="registered", detail=detail,
    )  # fmt: skip


def _offered(row: Worker, now: datetime) -> Event:
    """It reads less than was accepted, which stays until somebody accepts it."""
    gone = [] if row.facts is None else differences(row.facts.document, row.offered_facts or {})
    return Event(
        at=now, actor=f"worker:{row.name}", subject_kind="worker", subject=row.name, verb="offered",
        cause="it reads less than was accepted", detail={"less": gone[:20]},
    )  # fmt: skip


def _move(taken: Sequence[Taken], now: datetime) -> None:
    """Liveness by the call itself; health and, for simulated workers, whatever else their documents state."""
    here = {row.pk for row, _, report in taken if report.view.online}
    away = {row.pk for row, _, _ in taken if row.liveness != Liveness.LOST} - here
    unread = {row.pk for row, _, report in taken if report.unread}
    smaller = {row.pk for row, _, report in taken if report.smaller} - unread
    unwell = {row.pk for row, _, report in taken if report.view.unhealthy} - unread - smaller
    # Only what a registration noted is cleared by a later one.
    noted = {row.pk for row, _, _ in taken if row.health_note in (UNREAD, REVIEW, STATED)}
    well = noted - unread - smaller - unwell
    draining = {row.pk for row, _, report in taken if report.view.draining and row.intent == Intent.ACTIVE}
    for ids, machine, to, note in (
        (here, "liveness", Liveness.ONLINE, ""),
        (away, "liveness", Liveness.SUSPECT, ""),
        (unread, "health", Health.UNHEALTHY, UNREAD),
        (smaller, "health", Health.UNHEALTHY, REVIEW),
        (unwell, "health", Health.UNHEALTHY, STATED),
        (well, "health", Health.OK, ""),
        (draining, "intent", Intent.DRAINING, STATED),
    ):
        if ids:
            move_workers(ids, to, machine=machine, actor="", now=now, cause="registered", note=note)
