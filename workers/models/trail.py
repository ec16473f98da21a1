"""Rows that are written once: the base that refuses changes, and the trail of events."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


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
    actor = models.CharField(max_length=300)
    """`user:mira`, `worker:gpu-07`, `scheduler`, `operator:ada`."""
    subject_kind = models.CharField(max_length=30)
    """`job`, `attempt`, `task`, `worker`, `reservation`, `label`, `token`."""
    subject = models.CharField(max_length=300)
    """The subject's own name: `j-12`, `gpu-07`, a task's id."""
    verb = models.CharField(max_length=60)
    """What was changed: `state`, `liveness`, `intent`, `created`, `ended`."""
    before = models.CharField(max_length=200, blank=True)
    after = models.CharField(max_length=200, blank=True)
    cause = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = [
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
