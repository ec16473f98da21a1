"""The server's memory of having been awake."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Watch(models.Model):
    """One row: when the server last looked, by two clocks, so that an absence or a step of the wall clock shows."""

    wall_at = models.DateTimeField()
    boottime_ms = models.PositiveBigIntegerField()
    """CLOCK_BOOTTIME of the machine that looked, in milliseconds: wall-time steps do not move it."""
    boot_id = models.CharField(max_length=200, blank=True)
    up_since = models.DateTimeField()
    grace_until = models.DateTimeField(null=True, blank=True)
    """Until then no worker is declared lost: they have had no time to call."""
    note = models.CharField(max_length=500, blank=True)
    """What was last out of order, for people."""
    noted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_watch")]
        verbose_name_plural = "watch"

    def __str__(self) -> str:
        return f"awake since {self.up_since:%Y-%m-%d %H:%M:%S}"
