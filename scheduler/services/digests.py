"""By what a decision is known again: digests of everything it was made from, and of what came of it.

The rules are a pure function. So the same view, the same placements before it, the same entry and the same rules make
the same decision, byte for byte; hashing these costs the same for one worker and for ten thousand, where spelling out
each job's ten thousand candidates would not.
"""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import Any

from scheduler.core.decision import SchedulingDecision
from scheduler.core.spec import QueueEntry
from scheduler.records import FleetRecord, stated

NOTHING = sha256().hexdigest()


def view_digest(records: FleetRecord, at: datetime) -> str:
    """Of everything that a pass saw of its fleet; of its instant too, where reservations are to begin."""
    ahead = any(record.upcoming for record in records.values())
    seen = _spelled({name: stated(record) for name, record in records.items()})
    return sha256(seen + (at.isoformat().encode() if ahead else b"")).hexdigest()


def and_given(before: str, planned: Any) -> str:
    """The same with one more."""
    return sha256(before.encode() + _spelled(planned)).hexdigest()


def decision_digest(*, view: str, given: str, entry: QueueEntry, decision: SchedulingDecision) -> str:
    """Of one decision: what it was made from, and every candidate's verdict and codes."""
    own = "\nreserved_only" if entry.spec.placement.reserved_only else ""
    return sha256("\n".join((view, given, repr(entry), decision.fingerprint + own)).encode()).hexdigest()


def _spelled(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
