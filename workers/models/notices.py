"""What operators tell everybody: a banner on every page."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class NoticeLevel(models.TextChoices):
    """How loud it is."""

    INFO = "info"
    WARNING = "warning"


class Notice(models.Model):
    """One banner, shown from when it was written until it ends or somebody takes it down."""

    text = models.CharField(max_length=500)
    level = models.CharField(max_length=10, choices=NoticeLevel.choices, default=NoticeLevel.INFO)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    ends_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="notice_says_something"),
            models.CheckConstraint(condition=Q(level__in=NoticeLevel.values), name="notice_level"),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("created_at")), name="notice_ends_later"
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]
