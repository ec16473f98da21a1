"""When what is old was last removed, and how much of it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Upkeep(models.Model):
    """One row about the last run of retention, for those who wonder whether it runs."""

    began_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    """Null: it runs, or did not come to its end."""
    complete = models.BooleanField(default=False)
    """Nothing was left to remove; otherwise the next run goes on."""
    removed = models.JSONField(default=dict)
    """How many of each kind the last run removed."""
    swept_at = models.DateTimeField(null=True, blank=True)
    """When passes, bundles and what no row knows were last gone through to the end: that is done once a day."""

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_upkeep")]
        verbose_name_plural = "upkeep"

    def __str__(self) -> str:
        return f"began at {self.began_at:%Y-%m-%d %H:%M:%S}"
