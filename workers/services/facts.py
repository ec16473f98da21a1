"""What a registration says of a worker, checked and brought into the form in which facts are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from scheduler.core.codec import canonical_bytes, facts_to_document
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.fleet import RESERVED_FOR, DeviceView, WorkerFacts, WorkerView
from scheduler.core.parsing import parse_worker, parse_worker_facts
from workers.models import Worker

MISSING = "missing: the last registration did not find it"
SYSTEM_LABELS = "gpulayer.dev/"
_LIVE_FIELDS = ("health", "health_note", "foreign_memory")
_PROBED = ("os", "os_version", "arch", "cpu_millicores", "memory_bytes", "disk_bytes", "driver")
"""What a probe may fail to read once; a value that was accepted stays."""


@dataclass(frozen=True, slots=True)
class Reported:
    """One registration's facts and state. `document` and `digest` are of the facts as they are to be kept."""

    view: WorkerView
    document: dict[str, Any]
    digest: str
    missing: frozenset[int] = frozenset()
    """Indices of devices that were accepted before and not found this time."""
    unread: bool = False
    """The devices could not be read at all."""


def read_report(worker: Worker, document: object) -> Reported:
    """Read a registration's worker document; raises DocumentError with everything that is wrong.

    A real worker's facts never shrink by themselves: what was accepted before and is not read now stays. A simulated
    worker is what its document says.
    """
    view = parse_worker(document) if worker.simulated else WorkerView(facts=parse_worker_facts(document))
    _check_claims(worker, view.facts)
    facts = replace(view.facts, origin=type(view.facts.origin)(worker.origin), simulated=worker.simulated)
    missing: frozenset[int] = frozenset()
    if not worker.simulated and worker.facts is not None:
        facts, missing = grown(parse_worker_facts(worker.facts.document), facts)
    kept = _kept_document(facts)
    return Reported(
        view=replace(view, facts=facts),
        document=kept,
        digest=hashlib.sha256(canonical_bytes(kept)).hexdigest(),
        missing=missing,
        # A simulated worker's document may leave its devices unknown: nothing there could have failed to read them.
        unread=view.facts.devices is None and not worker.simulated,
    )


def grown(former: WorkerFacts, latest: WorkerFacts) -> tuple[WorkerFacts, frozenset[int]]:
    """The latest facts and whatever they lack of the former ones; and the indices of the devices not found."""
    stay = {name: getattr(former, name) for name in _PROBED if getattr(latest, name) is None}
    found = latest.devices or ()
    indices = {device.index for device in found}
    uuids = {device.uuid for device in found}
    lacking = [device for device in former.devices or () if not _is_among(device, indices, uuids)]
    kept = list(_beside(set(indices), lacking))
    both = (*found, *kept) if latest.devices is not None or kept else None
    devices = None if both is None else tuple(sorted(both, key=lambda device: device.index))
    return replace(latest, devices=devices, **stay), frozenset(device.index for device in kept)


def _is_among(device: DeviceView, indices: set[int], uuids: set[str | None]) -> bool:
    """A device is known by its uuid; where it has none, by its index."""
    return device.index in indices if device.uuid is None else device.uuid in uuids


def _beside(taken: set[int], lacking: Iterable[DeviceView]) -> Iterable[DeviceView]:
    """Missing devices keep their index, or move behind the others where another device has it now."""
    for device in lacking:
        index = device.index
        while index in taken:
            index += 1
        taken.add(index)
        yield replace(device, index=index, healthy=False, health_note=MISSING)


def _check_claims(worker: Worker, facts: WorkerFacts) -> None:
    """A worker speaks for itself only; reservations and the system's labels are not its to make."""
    problems = []
    if facts.id != worker.name:
        problems.append(Problem("id", repr(facts.id), f"{worker.name!r}, the name it enrolled with"))
    if not worker.simulated:
        problems += [
            Problem(f"labels[{key!r}]", "a label of the system", "no key that begins with gpulayer.dev/")
            for key in [*(key for key, _ in facts.labels), *([RESERVED_FOR] if facts.reserved_for else [])]
            if key.startswith(SYSTEM_LABELS)
        ]
        problems += [
            Problem(f"devices[{place}].reserved_for", "a reservation", "none: operators reserve devices")
            for place, device in enumerate(facts.devices or ())
            if device.reserved_for is not None
        ]
    if problems:
        raise DocumentError(problems)


def _kept_document(facts: WorkerFacts) -> dict[str, Any]:
    """The canonical document without what is kept elsewhere: labels, and how the devices do."""
    document = facts_to_document(replace(facts, labels=()))
    if isinstance(document.get("devices"), list):
        document["devices"] = [_without(device, _LIVE_FIELDS) for device in document["devices"]]
    return document


def _without(mapping: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in names}
