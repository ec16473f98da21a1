"""Workers and devices kept for somebody."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Reservation(models.Model):
    """A worker, or some of its devices, for one holder, from an instant on, until another or without an end.

    The database refuses two that keep the same device at the same time (see migration 0006), but for those that were
    ended early.
    """

    worker = models.ForeignKey("workers.Worker", on_delete=models.PROTECT, related_name="reservations")
    devices = models.JSONField(default=list, blank=True)
    """Indices, ascending; empty: the whole worker."""
    holder = models.CharField(max_length=300)
    """`job:j-12`, `user:mira` or `team:vision`."""
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    cancelled_at = models.DateTimeField(null=True, blank=True)
    ended_cause = models.CharField(max_length=100, blank=True)
    """Why it was ended before its time: `cancelled`, `j-12 is over`."""

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["worker"], condition=Q(cancelled_at__isnull=True), name="reservation_live"),
            models.Index(fields=["holder"], condition=Q(cancelled_at__isnull=True), name="reservation_by_holder"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                name="reservation_ends_after_it_starts",
                violation_error_message="The end must be after the start.",
            ),
            models.CheckConstraint(
                condition=Q(holder__startswith="job:") | Q(holder__startswith="user:") | Q(holder__startswith="team:"),
                name="reservation_holder",
                violation_error_message="The holder must be job:…, user:… or team:….",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.worker} for {self.holder}"
