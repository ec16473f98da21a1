"""A job: an immutable document plus a life."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class JobState(models.TextChoices):
    """Where a job stands in its life."""

    QUEUED = "queued"
    PAUSED = "paused"
    ASSIGNED = "assigned"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out", "timed out"


JOB_OVER = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.TIMED_OUT)


_PAUSED = {"poison": "paused: agents died running it", "declined": "paused: declined too often"}


class Job(models.Model):
    """What a person submitted and what became of it."""

    job_id = models.CharField(max_length=40, unique=True)
    """`j-<number>`, as people and agents call it."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    team = models.ForeignKey("auth.Group", null=True, blank=True, on_delete=models.PROTECT, related_name="jobs")
    """The team that owns it beside its owner; its members may see and change it."""
    name = models.CharField(max_length=253)
    spec = models.JSONField()
    """The canonical job document, without secrets."""
    submitted_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    state_since = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    failure_code = models.CharField(max_length=60, blank=True)
    failure_text = models.TextField(blank=True)
    paused_code = models.CharField(max_length=60, blank=True)
    """Why a paused job is paused: `person`, `poison`, `declined`."""
    paused_text = models.TextField(blank=True)
    hold_until = models.DateTimeField(null=True, blank=True)
    """When a hold for a person ends by itself; set once it has begun."""
    secrets = models.BinaryField(null=True, blank=True, editable=False)
    """The document's secrets, encrypted."""
    bundle = models.ForeignKey("scheduler.Bundle", null=True, blank=True, on_delete=models.PROTECT, related_name="jobs")
    """The files it runs with."""
    cloned_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="clones")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    simulated = models.BooleanField(default=False)
    """It was placed on a simulated worker: nothing was really run."""
    idempotency_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - no key is not a key
    idempotency_digest = models.CharField(max_length=64, blank=True)
    """SHA-256 (hex) of the document that came with the key: the same key with another document is refused."""
    decision = models.ForeignKey(
        "scheduler.Decision", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    """The latest one."""

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["state", "submitted_at", "id"], name="job_queue"),
            models.Index(fields=["owner", "id"], name="job_by_owner"),
            models.Index(fields=["team", "id"], name="job_by_team"),
            models.Index(fields=["state", "id"], name="job_by_state"),
            models.Index(fields=["finished_at"], name="job_by_end"),
            models.Index(fields=["hold_until"], condition=Q(hold_until__isnull=False), name="job_holds"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["owner", "idempotency_key"], name="one_job_per_idempotency_key"),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state"),
            models.CheckConstraint(condition=~Q(name="") & ~Q(job_id=""), name="job_has_a_name"),
            models.CheckConstraint(
                condition=Q(state__in=JOB_OVER, finished_at__isnull=False)
                | (~Q(state__in=JOB_OVER) & Q(finished_at__isnull=True)),
                name="job_is_over_when_finished",
            ),
            models.CheckConstraint(
                condition=~Q(state=JobState.CANCELLING) | Q(cancel_requested_at__isnull=False),
                name="job_cancelling_was_asked_to",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.name}"

    def in_short(self, signal: int | None = None) -> str:
        """How it ended or why it is paused, in a few words; empty where its decision says more. `signal` ended it."""
        if self.state == JobState.PAUSED:
            return _PAUSED.get(self.paused_code) or self.paused_text or "paused"
        if self.state == JobState.CANCELLED:
            return "cancelled" if self.started_at else "cancelled before it started"
        if self.state not in (JobState.FAILED, JobState.TIMED_OUT) or self.failure_code == "unschedulable":
            return ""
        if self.failure_code in ("", "exit_code") and self.exit_code:
            return f"exit code {self.exit_code}"
        if self.state == JobState.TIMED_OUT:
            return f"longer than {self.spec.get('timeout_s')} s"
        return f"signal {signal}" if self.failure_code == "signal" else self.failure_code.replace("_", " ")

    @property
    def is_over(self) -> bool:
        """Whether its state is final."""
        return self.state in JOB_OVER

    @property
    def state_words(self) -> str:
        """Its state after an `is`: `queued`, `running`, `over (failed)`."""
        state = str(self.get_state_display()).lower()
        return f"over ({state})" if self.is_over else state
