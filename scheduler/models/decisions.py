"""What passes decided about jobs, kept where something changed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Outcome(models.TextChoices):
    """The outcomes of `scheduler.core.decision`, for the database."""

    PLACED = "placed"
    WAITING = "waiting"
    UNSCHEDULABLE = "unschedulable"


class Kept(models.TextChoices):
    """Why a decision is kept beyond being the latest."""

    FIRST = "first"
    OUTCOME = "outcome", "outcome changed"
    CHANGE = "change", "other change"


class Decision(models.Model):
    """The compact form of one decision. Its pass and position suffice to expand it (`scheduler.services.recorded`)."""

    # The indexes and constraints below begin with these two; a waiting job's row changes with every pass, and each
    # index of its own would grow with that.
    job = models.ForeignKey("scheduler.Job", on_delete=models.CASCADE, related_name="decisions", db_index=False)
    pass_row = models.ForeignKey(
        "scheduler.SchedulingPass", on_delete=models.PROTECT, related_name="decisions", db_index=False
    )
    position = models.PositiveIntegerField()
    """Place in the pass's queue, from 0."""
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    kept = models.CharField(max_length=10, choices=Kept.choices)
    fingerprint = models.CharField(max_length=64)
    """Over what counts as a change: outcome, tiers, assignments, group codes, each candidate's verdict and codes."""
    digest = models.CharField(max_length=64)
    """SHA-256 (hex) over everything it was made from and what came of it (`scheduler.services.digests`)."""
    summary = models.JSONField()
    """Answer, short answer, tiers, assignments: what lists show without expanding (`scheduler.services.summaries`)."""
    holders = models.JSONField(default=list)
    failed_on = models.JSONField(default=list)
    made_at = models.DateTimeField()
    """When this was first decided so."""
    seen_at = models.DateTimeField()
    """When its figures were last refreshed: the instant of its pass."""

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["job", "id"], name="decision_by_job")]
        constraints = [
            models.UniqueConstraint(fields=["pass_row", "job"], name="one_decision_per_pass_and_job"),
            models.UniqueConstraint(fields=["job"], condition=Q(kept="first"), name="one_first_decision_per_job"),
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="decision_outcome"),
            models.CheckConstraint(condition=Q(kept__in=Kept.values), name="decision_kept"),
            models.CheckConstraint(condition=~Q(fingerprint="") & ~Q(digest=""), name="decision_digests"),
        ]

    @property
    def refreshed(self) -> bool:
        """Whether `pass_row` is a later pass than the one that first decided so: only figures changed since."""
        return self.pass_row.started_at > self.made_at

    def __str__(self) -> str:
        return f"{self.outcome} for job {self.job_id}"
