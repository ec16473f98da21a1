"""What operators want of a worker."""

from __future__ import annotations

from datetime import datetime

from workers.models import Intent, Worker
from workers.models.worker import LIVE
from workers.refusals import NotFound
from workers.services.moves import move_worker


def drain(*, name: str, note: str, actor: str, now: datetime) -> Worker:
    """Give the worker no more work; what runs there runs on. Raises NotFound."""
    worker = live_worker(name)
    if worker.intent == Intent.ACTIVE:
        move_worker(worker.pk, Intent.DRAINING, machine="intent", actor=actor, now=now, cause="drain", note=note)
    return live_worker(name)


def undrain(*, name: str, actor: str, now: datetime) -> Worker:
    """Let the worker have work again. Raises NotFound."""
    worker = live_worker(name)
    if worker.intent in (Intent.DRAINING, Intent.DRAINED):
        move_worker(worker.pk, Intent.ACTIVE, machine="intent", actor=actor, now=now, cause="undrain")
    return live_worker(name)


def live_worker(name: str) -> Worker:
    """The worker of this name that is neither revoked nor retired. Raises NotFound."""
    if "\0" not in name:
        found = Worker.objects.filter(LIVE, name=name).select_related("facts").first()
        if found is not None:
            return found
    raise NotFound(f"no worker {name[:100]!r}", code="no_such_worker")
