"""Decisions written down in full at the moment when they are made, to compare with what the database makes of them."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from random import Random

from scheduler.core.codec import canonical_bytes, decision_to_document
from scheduler.core.decision import SchedulingDecision
from scheduler.core.schedule import run_pass
from scheduler.memory import forget
from scheduler.models import Decision, SchedulingPass
from scheduler.queue import take_queue
from scheduler.services.recorded import recorded_at
from scheduler.snapshot import take_fleet

Digests = dict[str, bytes]
"""By job."""


class Witness:
    """Sees some decisions of some passes, and keeps a digest of every byte of them."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._seen: dict[tuple[int, str], bytes] = {}

    def look(self, now: datetime, *, count: int) -> Digests:
        """What the core decides at this moment, of so many jobs drawn by lot: some of them placed, some not."""
        entries = [queued.entry for queued in take_queue() if queued.entry]
        results = list(run_pass(entries, take_fleet(now=now).fleet()))
        placed = [result for result in results if result.decision.assignments]
        others = [result for result in results if not result.decision.assignments]
        drawn = [
            *self._dice.sample(placed, min(count - count // 2, len(placed))),
            *self._dice.sample(others, min(count // 2, len(others))),
        ]
        return {result.entry.job_id: _digest(result.decision) for result in drawn}

    def remember(self, row: SchedulingPass | None, looked: Digests) -> None:
        """These were decided in this pass."""
        if row:
            self._seen.update({(row.pk, job_id): digest for job_id, digest in looked.items()})

    def verdict(self) -> tuple[int, int]:
        """How many of the decisions that are still kept expand to the same bytes, and how many are kept."""
        forget()
        same = kept = 0
        of_passes = Decision.objects.filter(pass_row__in={pass_pk for pass_pk, _ in self._seen})
        for row in of_passes.select_related("job", "pass_row").order_by("pass_row", "position"):
            seen = self._seen.get((row.pass_row_id, row.job.job_id))
            if seen:
                kept += 1
                found = recorded_at(row)
                same += found.intact and _digest(found.decision) == seen
        return same, kept


def _digest(decision: SchedulingDecision) -> bytes:
    return sha256(canonical_bytes(decision_to_document(decision))).digest()
