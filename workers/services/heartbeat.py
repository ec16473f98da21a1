"""Heartbeats: who is there, how its devices do, and when to call again. One worker or a fleet, the same queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from scheduler.core.quantities import parse_size
from workers.changes import bump
from workers.models import Credential, Intent, Liveness, Worker
from workers.models.worker import LIVE
from workers.services.devices import Reading, take_readings
from workers.services.limits import FOREIGN
from workers.services.liveness import next_in
from workers.services.moves import move_workers
from workers.services.restored import is_held


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """One worker's call. `leaving`: it goes away in order and shall be offline at once."""

    worker: str
    epoch: int
    seq: int
    readings: tuple[Reading, ...] = ()
    leaving: bool = False
    instance: str = ""
    """The run of the agent that calls; empty where it does not say."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of it. `workers`: ids by name of those whose epoch is right; `stale`: they must register again.

    `fresh`: ids of those whose call was neither late nor a repetition.
    """

    workers: dict[str, int]
    stale: tuple[str, ...]
    unknown: tuple[str, ...]
    draining: frozenset[str]
    next_in: float
    fresh: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    """Of these, those that get no work since the database was restored; what they run decides whether that is over."""


@transaction.atomic
def hear(*, credential: Credential, heartbeats: Sequence[Heartbeat], now: datetime) -> Heard:
    """Take heartbeats at a fixed number of queries. An old `seq` changes nothing and is answered like a new one."""
    rows = _own_workers(credential, [one.worker for one in heartbeats])
    right = [one for one in heartbeats if one.worker in rows and rows[one.worker].epoch == one.epoch > 0]
    new = [one for one in right if _is_new(one, rows[one.worker])]
    pace = next_in(simulated=any(row.simulated for row in rows.values()))
    _write(new, rows, pace, now)
    _move(new, rows, now)
    altered = take_readings(
        {rows[one.worker].pk: one.readings for one in new if one.readings},
        allowances={rows[one.worker].pk: _allowance(rows[one.worker]) for one in new if one.readings},
        now=now,
    )
    bump(altered)
    spoken_for = {one.worker for one in right}
    return Heard(
        workers={one.worker: rows[one.worker].pk for one in right},
        stale=tuple(one.worker for one in heartbeats if one.worker in rows and one.worker not in spoken_for),
        unknown=tuple(one.worker for one in heartbeats if one.worker not in rows),
        draining=frozenset(name for name in spoken_for if rows[name].intent != Intent.ACTIVE),
        next_in=pace,
        fresh=frozenset(rows[one.worker].pk for one in new),
        held=frozenset(rows[one.worker].pk for one in new if not one.leaving and is_held(rows[one.worker])),
    )


def _is_new(one: Heartbeat, row: Worker) -> bool:
    return one.seq > row.seq and (not one.instance or row.instance in ("", one.instance))


def _own_workers(credential: Credential, names: list[str]) -> dict[str, Worker]:
    """The live ones among them; the facts come along only where devices may be judged by them."""
    own = Worker.objects.filter(LIVE, credential=credential, name__in=names)
    rows = own if credential.fleet else own.select_related("facts")
    return {row.name: row for row in rows.select_for_update(of=("self",)).order_by("pk")}


def _allowance(row: Worker) -> int | None:
    """What processes outside may hold of a device: an operator's word before the agent's."""
    if FOREIGN in row.limits:
        return int(row.limits[FOREIGN])
    document = row.facts.document if row.facts else {}
    return parse_size(document.get("foreign_allowance"), at_least=False)


def _write(new: Sequence[Heartbeat], rows: dict[str, Worker], pace: float, now: datetime) -> None:
    """One update per distinct `seq`: a fleet that is kept alive together counts together."""
    by_seq: defaultdict[int, list[int]] = defaultdict(list)
    for one in new:
        by_seq[one.seq].append(rows[one.worker].pk)
    for seq, ids in sorted(by_seq.items()):
        Worker.objects.filter(pk__in=ids).update(seq=seq, last_seen_at=now, heartbeat_seconds=pace)


def _move(new: Sequence[Heartbeat], rows: dict[str, Worker], now: datetime) -> None:
    back = [rows[one.worker].pk for one in new if not one.leaving and rows[one.worker].liveness != Liveness.ONLINE]
    leaving = [rows[one.worker].pk for one in new if one.leaving and rows[one.worker].liveness == Liveness.ONLINE]
    if back:
        move_workers(back, Liveness.ONLINE, machine="liveness", actor="", now=now, cause="heard of again")
    if leaving:
        move_workers(leaving, Liveness.SUSPECT, machine="liveness", actor="", now=now, cause="it said that it leaves")
