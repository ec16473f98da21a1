"""What a worker proves itself with. Only hashes are kept (SHA-256, hex): the secrets are 256 random bits."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from workers.models.worker import Origin


class EnrolmentToken(models.Model):
    """Shown once; lets `uses_left` more workers enrol until it expires."""

    hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    """The first characters, to recognise it by."""
    note = models.CharField(max_length=200, blank=True)
    origin = models.CharField(max_length=10, choices=Origin.choices, blank=True)
    """The origin its workers get; empty: the one that they state."""
    simulated = models.BooleanField(default=False)
    uses_left = models.PositiveIntegerField(default=1)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=["", *Origin.values]), name="enrolment_origin"),
            models.CheckConstraint(condition=~Q(hash=""), name="enrolment_hash"),
            models.CheckConstraint(condition=Q(uses_left__gte=0), name="enrolment_uses_left"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.note}".strip()


class Credential(models.Model):
    """What an agent signs its calls with: for exactly one worker, or for a fleet of simulated ones."""

    hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    fleet = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    rotated_at = models.DateTimeField(null=True, blank=True)
    next_hash = models.CharField(max_length=64, null=True, blank=True, unique=True)
    """Of its successor, which takes its place when it is first used."""
    next_prefix = models.CharField(max_length=16, blank=True)
    rotation_asked_at = models.DateTimeField(null=True, blank=True)
    """When an operator wanted a successor; nothing once that is in use."""
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [models.CheckConstraint(condition=~Q(hash=""), name="credential_hash")]

    def __str__(self) -> str:
        return f"{self.prefix}…"
