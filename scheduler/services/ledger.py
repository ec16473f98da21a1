"""Passes as rows: what each of them saw, as changes to the one before, and how to see it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import scheduler.core
from scheduler.core.devices import load_of
from scheduler.core.schedule import PassResult
from scheduler.memory import remembered, trim
from scheduler.models import PassState, SchedulingPass
from scheduler.records import FleetRecord, WorkerRecord, applied, changes, delta_from, packed, packed_delta, unpacked
from scheduler.services.lease import Lease

KEYFRAME_EVERY = 64
VIEWS_KEPT = 16
NEAR = 16
"""So many passes back a remembered view is nearer than the last keyframe."""

ViewKey = tuple[int, str]
_views: OrderedDict[ViewKey, FleetRecord] = remembered(OrderedDict())
_numbers: OrderedDict[ViewKey, int] = remembered(OrderedDict())
"""Of the passes whose views are remembered."""


@cache
def rules_revision() -> str:
    """Names the rules that decide: a hash over the core's own files."""
    digest = sha256()
    for path in sorted(Path(scheduler.core.__path__[0]).iterdir()):
        if path.suffix in (".py", ".csv"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class PlannedPlacement(NamedTuple):
    """What one job was to get: where, and the load of one of its tasks."""

    position: int
    job_id: str
    assignments: list[tuple[str, list[int]]]
    """Worker and device indices, by rank."""
    cpu_millicores: int
    memory_bytes: int
    disk_bytes: int


def planned_placement(result: PassResult) -> PlannedPlacement:
    """What this result gives its job."""
    load = load_of(result.entry, ())
    assignments = [(place.worker, list(place.devices)) for place in result.decision.assignments]
    return PlannedPlacement(
        result.position, result.entry.job_id, assignments, load.cpu_millicores, load.memory_bytes, load.disk_bytes
    )


def placements_of(row: SchedulingPass) -> list[PlannedPlacement]:
    """What the pass planned, in order."""
    return [PlannedPlacement(*fields) for fields in unpacked(row.placements)]


def latest_pass() -> SchedulingPass | None:
    """The pass with the highest number."""
    return SchedulingPass.objects.order_by("-number").first()


def seen_by(pass_row: SchedulingPass) -> FleetRecord:
    """The fleet as that pass saw it: the keyframe before it and every change since, at one or two queries."""
    records = _views.get(view_key(pass_row))
    if records is None:
        records = _since_another(pass_row)
    if records is None:
        keyframes = SchedulingPass.objects.filter(keyframe=True, number__lte=pass_row.number).order_by("-number")
        rows = SchedulingPass.objects.filter(
            number__lte=pass_row.number, number__gte=keyframes.values("number")[:1]
        ).order_by("number")
        records = _applied_all({}, rows.values_list("view", flat=True))
    _remember(pass_row, records)
    return records


def _since_another(pass_row: SchedulingPass) -> FleetRecord | None:
    """The same from the latest view before it that is remembered, where there is one of the last passes."""
    near = {number: key for key, number in list(_numbers.items()) if 0 < pass_row.number - number <= NEAR}
    if not near:
        return None
    key = near[max(near)]
    known = _views.get(key)
    rows = SchedulingPass.objects.filter(number__gte=max(near), number__lte=pass_row.number).order_by("number")
    found = list(rows.values_list("pk", "view_digest", "view", "keyframe"))
    # Another row may have that number by now; and a keyframe says nothing of who is gone.
    if known is None or found[0][:2] != key or any(keyframe for *_, keyframe in found[1:]):
        return None
    return _applied_all(known, (view for _, _, view, _ in found[1:]))


def _applied_all(records: FleetRecord, views: Iterable[bytes | memoryview]) -> FleetRecord:
    for data in views:
        records = applied(records, delta_from(data))
    return records


def view_key(row: SchedulingPass) -> ViewKey:
    """What a view is remembered by: the digest too, for the key of a row that was rolled back is given again."""
    return row.pk, row.view_digest


def begin(
    *, lease: Lease, number: int, records: FleetRecord, delta: Mapping[str, WorkerRecord | None], queue_digest: str,
    considered: int, planned: Sequence[PlannedPlacement], started_at: datetime, view_digest: str,
) -> SchedulingPass:  # fmt: skip
    """Write down what a pass saw and what it means to do, before it does any of it."""
    keyframe = number % KEYFRAME_EVERY == 1
    row = SchedulingPass.objects.create(
        number=number,
        epoch=lease.epoch,
        holder=lease.holder,
        started_at=started_at,
        confirmed_at=started_at,
        considered=considered,
        workers=len(records),
        queue_digest=queue_digest,
        view_digest=view_digest,
        keyframe=keyframe,
        view=packed_delta(changes(None, records) if keyframe else delta),
        placements=packed(list(planned)),
        rules=rules_revision(),
    )
    _remember(row, records)
    return row


def finish(row: SchedulingPass, *, state: PassState, placed: int, refused: int, now: datetime) -> None:
    """Write down what came of it, unless another holder has closed it already."""
    row.state, row.placed, row.refused, row.finished_at = state, placed, refused, now
    row.duration_ms = max(0, round((now - row.started_at).total_seconds() * 1000))
    SchedulingPass.objects.filter(pk=row.pk, state=PassState.RUNNING).update(
        state=state, placed=placed, refused=refused, finished_at=now, duration_ms=row.duration_ms
    )


def abandon_earlier(lease: Lease, now: datetime) -> None:
    """Close the rows of passes that died midway."""
    SchedulingPass.objects.filter(state=PassState.RUNNING, epoch__lt=lease.epoch).update(
        state=PassState.REFUSED, finished_at=now
    )


def is_last_unfinished() -> bool:
    """Whether the newest pass still counts as running. Earlier ones were closed when it began."""
    newest = SchedulingPass.objects.order_by("-number").values_list("state", flat=True).first()
    return newest == PassState.RUNNING


def _remember(row: SchedulingPass, records: FleetRecord) -> None:
    _views[view_key(row)], _numbers[view_key(row)] = records, row.number
    trim(_views, VIEWS_KEPT)
    trim(_numbers, VIEWS_KEPT)
