"""Accepting that a worker has less than it had: only an operator lets facts shrink."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from scheduler.core.parsing import parse_worker_facts
from workers.changes import bump
from workers.models import Event, Health, Worker, WorkerFacts
from workers.refusals import Refused
from workers.services.devices import sync_devices
from workers.services.differences import differences
from workers.services.facts import digest_of
from workers.services.intent import live_worker
from workers.services.moves import move_worker
from workers.services.register import REVIEW


def offer_of(worker: Worker) -> list[str]:
    """What its last reading has less of than was accepted, in words; nothing where there is nothing to accept."""
    if worker.offered_facts is None or worker.facts is None:
        return []
    return differences(worker.facts.document, worker.offered_facts)


@transaction.atomic
def accept(*, name: str, actor: str, now: datetime) -> Worker:
    """Let the worker's facts be what it read last. Raises NotFound, and Refused where nothing is offered.

    Tasks keep what they hold, also of devices that are gone.
    """
    worker = Worker.objects.select_for_update().get(pk=live_worker(name).pk)
    if worker.offered_facts is None or worker.facts is None:
        raise Refused("nothing_offered", f"{worker.name} reads no less than was accepted: there is nothing to accept")
    less, before = offer_of(worker), worker.facts.number
    facts = WorkerFacts.objects.create(
        worker=worker, number=before + 1, document=worker.offered_facts, digest=digest_of(worker.offered_facts),
        created_at=now,
    )  # fmt: skip
    views = parse_worker_facts(facts.document).devices or ()
    worker.facts, worker.offered_facts, worker.offered_at = facts, None, None
    worker.save(update_fields=["facts", "offered_facts", "offered_at"])
    sync_devices({worker.pk: (views, frozenset())})
    Event.objects.create(
        at=now, actor=actor, subject_kind="worker", subject=worker.name, verb="accepted", before=f"facts {before}",
        after=f"facts {facts.number}", cause="an operator accepted that it has less", detail={"less": less[:20]},
    )  # fmt: skip
    if worker.health_note == REVIEW:
        move_worker(worker.pk, Health.OK, machine="health", actor=actor, now=now, cause="accepted")
    bump([worker.pk])
    return live_worker(name)
