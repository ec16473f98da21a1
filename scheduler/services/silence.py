"""Workers that are not heard of: suspect after three missed heartbeats, lost after a time; drained when empty."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q

from scheduler.models import Task
from scheduler.services.watch import give_grace, grace_seconds, is_grace
from scheduler.snapshot import is_silent
from workers.models import Intent, Liveness, Worker
from workers.models.worker import LIVE
from workers.services import move_workers

ACTOR = "scheduler"
FEWEST = 3
"""Of fewer workers it says nothing about the server when half of them are silent."""


def suspect_the_silent(now: datetime) -> None:
    """Call workers suspect that have missed their heartbeats."""
    rows = Worker.objects.filter(liveness=Liveness.ONLINE).values("pk", "last_seen_at", "heartbeat_seconds")
    suspect([row["pk"] for row in rows if is_silent(row, now)], now=now)


@transaction.atomic
def suspect(silent: Iterable[int], *, now: datetime) -> list[int]:
    """Call these workers suspect, unless nobody could be heard of late. Returns those that became so.

    When at least half of three or more fall silent together, it is rather the server or its network that is at fault:
    then everybody gets the time to call before anybody is declared lost.
    """
    silent = list(silent)
    if not silent or is_grace(now):
        return []
    moved = move_workers(
        silent, Liveness.SUSPECT, machine="liveness", actor=ACTOR, now=now, cause="missed its heartbeats"
    )
    _look_for_many(now)
    return moved


def _look_for_many(now: datetime) -> None:
    since = now - timedelta(seconds=grace_seconds())
    lately = Q(liveness=Liveness.SUSPECT, state_since__gt=since, state_since__lte=now)
    there = Worker.objects.filter(LIVE).filter(Q(liveness=Liveness.ONLINE) | lately)
    counts = there.values("simulated").annotate(all=Count("pk"), silent=Count("pk", filter=lately)).order_by()
    for each in counts:
        if each["all"] >= FEWEST and 2 * each["silent"] >= each["all"]:
            give_grace(f"{each['silent']} of {each['all']} workers fell silent together", now=now)


def lose_the_suspect(now: datetime) -> None:
    """Call workers lost that have not been heard of for long. Their tasks stay what they are."""
    since = now - timedelta(seconds=settings.GPULAYER_LOST_AFTER_SECONDS)
    gone = Worker.objects.filter(liveness=Liveness.SUSPECT, last_seen_at__lte=since).values_list("pk", flat=True)
    move_workers(gone, Liveness.LOST, machine="liveness", actor=ACTOR, now=now, cause="not heard of for long")


def finish_draining(now: datetime) -> None:
    """Call workers drained that were to get no more work, and have none left."""
    busy = Task.objects.filter(worker=OuterRef("pk"), released_at=None)
    empty = Worker.objects.filter(~Exists(busy), intent=Intent.DRAINING)
    for pk in list(empty.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            # Asked again under its lock: somebody may have let it have work again, or drained it anew.
            row = empty.select_for_update(of=("self",)).filter(pk=pk).first()
            if row is not None:
                move_workers(
                    [pk], Intent.DRAINED, machine="intent", actor=ACTOR, now=now, cause="empty", note=row.intent_note
                )
