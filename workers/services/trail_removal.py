"""Removing sealed stretches of the trail, and saying so in the trail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.db import transaction
from django.db.models import QuerySet

from workers.models import Event, TrailSeal
from workers.services.trail_door import removing

KIND, REMOVED = "trail", "removed"
"""Kind and verb of the event by which a removal is told."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The events under one seal."""

    seal: TrailSeal
    after: int
    """The last event of the seal before."""

    @property
    def rows(self) -> QuerySet[Event]:
        """Its events; what was put in between belongs to the later seal."""
        return Event.objects.filter(pk__gt=self.after, pk__lte=self.seal.last)


def stretches() -> Iterator[Stretch]:
    """All sealed ones but the newest, the oldest first."""
    seals = list(TrailSeal.objects.defer("marks").order_by("last"))
    after = 0
    for seal, _ in pairwise(seals):
        yield Stretch(seal, after)
        after = seal.last


def is_needed(stretch: Stretch) -> bool:
    """Whether it tells of a removal without which the chain could not be followed."""
    told = stretch.rows.filter(subject_kind=KIND, verb=REMOVED).values_list("detail__digest", flat=True)
    return TrailSeal.objects.filter(previous__in=[digest for digest in told if digest]).exists()


def was_removed(digest: str) -> bool:
    """Whether retention has said that it removed the seal with this digest."""
    return Event.objects.filter(subject_kind=KIND, verb=REMOVED, detail__digest=digest).exists()


@transaction.atomic
def remove(stretch: Stretch, *, now: datetime) -> int:
    """Remove its events and its seal; how many events, 0 where somebody else has just done it.

    The seal behind it follows one that is gone: an event says which that was.
    """
    with removing():
        if not TrailSeal.objects.filter(pk=stretch.seal.pk).delete()[0]:
            return 0
        gone, _ = stretch.rows.delete()
    seal = stretch.seal
    Event.objects.create(
        at=now, actor="scheduler", subject_kind=KIND, subject="events", verb=REMOVED,
        before=f"{seal.first} to {seal.last}", cause="older or more than is kept",
        detail={"digest": seal.digest, "events": gone},
    )  # fmt: skip
    return gone
