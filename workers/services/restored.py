"""Workers of a database that was restored from a backup: none gets work before it is known what runs there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from workers.changes import bump
from workers.models import EnrolmentToken, Event, Health, Liveness, Worker
from workers.models.worker import LIVE
from workers.services.moves import move_workers
from workers.services.register import REVIEW, STATED, UNREAD

RESTORED = "restored from a backup: it gets work once its agent has said what runs there, or an operator clears it"
EPOCHS = 1_000_000
"""More than a worker can have registered since the backup was made."""


@transaction.atomic
def hold_all(*, actor: str, now: datetime) -> int:
    """Every worker has to register anew, and is given nothing until `confirm`, or until an operator clears it.

    Who was unwell for the failures of jobs stays so, whatever its agent says. Enrolment tokens end: nobody knows who
    has used them since. Drains stop nothing any more at their deadlines: they may have been lifted since. Returns how
    many workers are held.
    """
    EnrolmentToken.objects.filter(expires_at__gt=now).update(expires_at=now)
    live = Worker.objects.filter(LIVE)
    _disarm(live.filter(drain_stops=True), actor=actor, now=now)
    # With another epoch than its agent's every call but a registration, which tells all that runs, is refused.
    live.filter(epoch__gt=0).update(epoch=F("epoch") + EPOCHS)
    here = list(live.filter(liveness=Liveness.ONLINE).values_list("pk", flat=True))
    move_workers(here, Liveness.SUSPECT, machine="liveness", actor=actor, now=now, cause="restored from a backup")
    well = list(live.filter(health=Health.OK).values_list("pk", flat=True))
    move_workers(
        well, Health.UNHEALTHY, machine="health", actor=actor, now=now, cause="restored from a backup", note=RESTORED
    )
    # A registration says these again, if they are still so.
    said_again = live.filter(health=Health.UNHEALTHY, health_note__in=(UNREAD, REVIEW, STATED))
    said_again.update(health_note=RESTORED)
    held = list(live.filter(health_note=RESTORED).values_list("pk", flat=True))
    bump(held)
    return len(held)


def _disarm(stopping: QuerySet[Worker], *, actor: str, now: datetime) -> None:
    Event.objects.bulk_create(
        Event(
            at=now, actor=actor, subject_kind="worker", subject=row.name, verb="intent", before=row.intent,
            after=row.intent, cause="restored from a backup: its drain waits, and stops nothing",
        )
        for row in stopping.order_by("pk")
    )  # fmt: skip
    stopping.update(drain_stops=False)


def is_held(worker: Worker) -> bool:
    """Whether it waits for `confirm`."""
    return worker.health_note == RESTORED and worker.health == Health.UNHEALTHY


def confirm(worker_ids: Iterable[int], *, now: datetime) -> list[int]:
    """The agents of these have registered and run nothing that is not known here. Returns who gets work again."""
    ids = list(worker_ids)
    if not ids:
        return []
    held = Worker.objects.filter(pk__in=ids, health=Health.UNHEALTHY, health_note=RESTORED)
    return move_workers(
        list(held.values_list("pk", flat=True)), Health.OK, machine="health", actor="", now=now,
        cause="its agent has said what runs there",
    )  # fmt: skip
