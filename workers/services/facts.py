"""What a registration says of a worker, checked and brought into the form in which facts are kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from scheduler.core.codec import canonical_bytes, facts_to_document
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.fleet import RESERVED_FOR, WorkerFacts, WorkerView
from scheduler.core.parsing import parse_worker, parse_worker_facts
from workers.models import Worker
from workers.services.grown import Grown, grown

SYSTEM_LABELS = "gpulayer.dev/"
_LIVE_FIELDS = ("health", "health_note", "foreign_memory")


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
    smaller: bool = False
    """The host has less CPU or RAM than was accepted."""
    offered: dict[str, Any] | None = None
    """What was read, in the form of `document`, where it is less: an operator may accept it."""


def read_report(worker: Worker, document: object) -> Reported:
    """Read a registration's worker document; raises DocumentError with everything that is wrong.

    A real worker's facts never shrink by themselves: what was accepted before and is not read now stays. A simulated
    worker is what its document says.
    """
    view = parse_worker(document) if worker.simulated else WorkerView(facts=parse_worker_facts(document))
    _check_claims(worker, view.facts)
    facts = replace(view.facts, origin=type(view.facts.origin)(worker.origin), simulated=worker.simulated)
    both = Grown(facts, facts)
    if not worker.simulated and worker.facts is not None:
        both = grown(parse_worker_facts(worker.facts.document), facts)
    kept, read = kept_document(both.kept), kept_document(both.read)
    return Reported(
        view=replace(view, facts=both.kept),
        document=kept,
        digest=digest_of(kept),
        missing=both.missing,
        # A simulated worker's document may leave its devices unknown: nothing there could have failed to read them.
        unread=view.facts.devices is None and not worker.simulated,
        smaller=both.lacks_size,
        offered=read if read != kept else None,
    )


def digest_of(document: dict[str, Any]) -> str:
    """By which the same facts are known again."""
    return hashlib.sha256(canonical_bytes(document)).hexdigest()


def _check_claims(worker: Worker, facts: WorkerFacts) -> None:
    """A worker speaks for itself only; reservations and the system's labels are not its to make."""
    problems = []
    if facts.id != worker.name:
        problems.append(Problem("id", repr(facts.id), f"{worker.name!r}, the name it enrolled with"))
    if facts.upcoming:
        problems.append(Problem("upcoming", "a reservation", "none: operators make reservations"))
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


def kept_document(facts: WorkerFacts) -> dict[str, Any]:
    """The canonical document without what is kept elsewhere: labels, and how the devices do."""
    document = facts_to_document(replace(facts, labels=()))
    if isinstance(document.get("devices"), list):
        document["devices"] = [_without(device, _LIVE_FIELDS) for device in document["devices"]]
    return document


def _without(mapping: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in names}
