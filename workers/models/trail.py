"""Rows that are written once: the base that refuses changes, and the trail of events."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models

from workers.caller import address_now, way_now
from workers.models.trail_text import TrailDetail, TrailText


class AppendOnlyError(TypeError):
    """A row that is written once was about to be changed."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Refuses the bulk ways of changing rows."""

    def update(self, **_: Any) -> NoReturn:
        """Always raises `AppendOnlyError`."""
        raise AppendOnlyError(f"{self.model.__name__} rows are written once and never changed")

    def bulk_update(self, *_: Any, **__: Any) -> NoReturn:
        """Always raises `AppendOnlyError`."""
        raise AppendOnlyError(f"{self.model.__name__} rows are written once and never changed")


class AppendOnly(models.Model):
    """Saved once; the database refuses an UPDATE too (see the migrations)."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; raises `AppendOnlyError` for a row that is already there."""
        if not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} {self.pk} is written once and never changed")
        super().save(*args, **kwargs)


class Event(AppendOnly):
    """One change of anything: who changed what, from what to what, because of what, when.

    Written in the same transaction as the change itself.
    """

    at = models.DateTimeField()
    actor = TrailText(max_length=300)
    """`user:mira`, `worker:gpu-07`, `scheduler`, `operator:ada`."""
    subject_kind = TrailText(max_length=30)
    """`job`, `attempt`, `task`, `worker`, `reservation`, `label`, `token`."""
    subject = TrailText(max_length=300)
    """The subject's own name: `j-12`, `gpu-07`, a task's id."""
    verb = TrailText(max_length=60)
    """What was changed: `state`, `liveness`, `intent`, `created`, `ended`."""
    before = TrailText(max_length=200, blank=True)
    after = TrailText(max_length=200, blank=True)
    cause = TrailText(max_length=200, blank=True)
    detail = TrailDetail(default=dict, blank=True)
    address = TrailText(max_length=45, blank=True, default=address_now)
    """Where the call came from; empty for what the server did by itself."""
    via = TrailText(max_length=60, blank=True, default=way_now)
    """By which door: `session`, `token glu_abcd`, `worker`."""

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["actor", "id"], name="event_by_actor"),
            models.Index(fields=["subject_kind", "subject", "id"], name="event_by_subject"),
            models.Index(fields=["at"], name="event_by_time"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(actor="") & ~models.Q(subject="") & ~models.Q(verb=""),
                name="event_says_who_and_what",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject_kind} {self.subject}: {self.verb} {self.before} → {self.after}"


class TrailSeal(AppendOnly):
    """A stretch of the trail, sealed: a digest over its events and the seal before it. Who changes one breaks it."""

    first = models.BigIntegerField()
    """The smallest and the largest id of its events; the next seal begins above."""
    last = models.BigIntegerField(unique=True)
    events = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    """SHA-256 (hex) over the digest before and each event in order of its id."""
    marks = models.BinaryField(default=bytes, editable=False)
    """Of each event its id and the beginning of its digest: they tell which one is not as it was."""
    previous = models.CharField(max_length=64, blank=True, unique=True)
    """The digest of the seal before; empty for the first. Two seals can't follow the same one."""
    sealed_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=models.Q(last__gte=models.F("first")), name="seal_ends_after_it_begins"),
        ]

    def __str__(self) -> str:
        return f"events {self.first} to {self.last}"
