"""Workers that are not to be trusted with work until an operator has looked, and the operator's word that they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from workers.models import Event, Health, Worker
from workers.services.intent import live_worker
from workers.services.moves import move_worker

FAILURES = "jobs in a row failed within a minute of starting"
"""How the note of such a worker begins, after their number."""
MOST_NAMED = 5


def note_failures(worker_id: int, jobs: Sequence[str], *, actor: str, now: datetime) -> bool:
    """Give the worker no more work: these jobs failed one after the other. False where it is unhealthy already."""
    named = ", ".join(jobs[:MOST_NAMED])
    note = f"{len(jobs)} {FAILURES}: {named}"
    return move_worker(
        worker_id, Health.UNHEALTHY, machine="health", actor=actor, now=now, cause="jobs fail at once", note=note
    )


@transaction.atomic
def trust(*, name: str, actor: str, now: datetime) -> Worker:
    """The worker is well; what failed there so far counts no more. Raises NotFound."""
    worker = live_worker(name)
    Worker.objects.filter(pk=worker.pk).update(trusted_since=now)
    before = worker.trusted_since
    Event.objects.create(
        at=now, actor=actor, subject_kind="worker", subject=worker.name, verb="trusted",
        before=before.isoformat(timespec="seconds") if before else "", after=now.isoformat(timespec="seconds"),
        cause="failures before count no more",
    )  # fmt: skip
    if worker.health == Health.UNHEALTHY:
        move_worker(worker.pk, Health.OK, machine="health", actor=actor, now=now, cause="trusted again")
    return live_worker(name)
