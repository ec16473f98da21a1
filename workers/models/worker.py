"""A machine that runs tasks, and its three states: is it there, may it take work, is it well."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Origin(models.TextChoices):
    """Where a worker stands."""

    LOCAL = "local"
    REMOTE = "remote"
    CLOUD = "cloud"


class Liveness(models.TextChoices):
    """Whether the server hears of it. Suspect and lost are offline; the others but online are not in the fleet."""

    ENROLLED = "enrolled"
    ONLINE = "online"
    SUSPECT = "suspect"
    LOST = "lost"
    REVOKED = "revoked"


class Intent(models.TextChoices):
    """What its operators want of it."""

    ACTIVE = "active"
    DRAINING = "draining"
    DRAINED = "drained"
    RETIRED = "retired"


class Health(models.TextChoices):
    """Whether it may be trusted with work."""

    OK = "ok"
    UNHEALTHY = "unhealthy"


LIVE = ~Q(liveness=Liveness.REVOKED) & ~Q(intent=Intent.RETIRED)
"""Workers whose name is taken."""


class Worker(models.Model):
    """One machine. `version` grows with every change that can alter a decision (see `workers.changes`)."""

    name = models.CharField(max_length=253)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    simulated = models.BooleanField(default=False)
    liveness = models.CharField(max_length=10, choices=Liveness.choices, default=Liveness.ENROLLED)
    intent = models.CharField(max_length=10, choices=Intent.choices, default=Intent.ACTIVE)
    intent_note = models.CharField(max_length=200, blank=True)
    drain_deadline = models.DateTimeField(null=True, blank=True)
    """When a drain is to be over."""
    drain_stops = models.BooleanField(default=False)
    """Whether tasks that still run at the deadline are stopped; else they are waited for."""
    limits = models.JSONField(default=dict, blank=True)
    """What operators set over the agent's word: `max_concurrent_tasks`, `foreign_allowance_bytes`."""
    health = models.CharField(max_length=10, choices=Health.choices, default=Health.OK)
    health_note = models.CharField(max_length=500, blank=True)
    state_since = models.DateTimeField()
    """When liveness, intent or health last changed."""
    credential = models.ForeignKey(
        "workers.Credential", null=True, blank=True, on_delete=models.PROTECT, related_name="workers"
    )
    machine_id = models.CharField(max_length=200, blank=True)
    boot_id = models.CharField(max_length=200, blank=True)
    instance = models.CharField(max_length=64, blank=True)
    """One run of its agent; another one with the same boot: the agent was restarted."""
    host = models.JSONField(default=dict, blank=True)
    """What people need to reach the host: hostname, user, uid, run_as_submitter, address."""
    epoch = models.PositiveBigIntegerField(default=0)
    """Grows with every registration; a report with another epoch is refused."""
    seq = models.PositiveBigIntegerField(default=0)
    """Of the last heartbeat taken in this epoch."""
    heartbeat_seconds = models.FloatField(default=15.0)
    """When the server told it to call next; three of these without a call make it suspect."""
    last_seen_at = models.DateTimeField(null=True, blank=True)
    facts = models.ForeignKey("workers.WorkerFacts", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    offered_facts = models.JSONField(null=True, blank=True)
    """A reading that lacks what an earlier one had; it counts once an operator accepts it."""
    offered_at = models.DateTimeField(null=True, blank=True)
    unknown = models.JSONField(default=dict, blank=True)
    """Why what is missing in its last reading is: place in its document to reason."""
    trusted_since = models.DateTimeField(null=True, blank=True)
    """Failures of jobs before this do not count against it."""
    version = models.PositiveBigIntegerField(default=0)
    protocol = models.PositiveSmallIntegerField(default=1)
    agent_version = models.CharField(max_length=50, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)
        indexes = [models.Index(fields=["liveness", "last_seen_at"], name="worker_by_liveness")]
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=LIVE,
                name="one_live_worker_per_name",
                violation_error_message="A live worker of this name exists.",
            ),
            models.UniqueConstraint(
                fields=["credential"], condition=LIVE & Q(simulated=False), name="one_real_worker_per_credential"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="worker_has_a_name"),
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="worker_origin"),
            models.CheckConstraint(condition=Q(liveness__in=Liveness.values), name="worker_liveness"),
            models.CheckConstraint(condition=Q(intent__in=Intent.values), name="worker_intent"),
            models.CheckConstraint(
                condition=Q(drain_stops=False) | Q(drain_deadline__isnull=False), name="worker_stops_at_a_deadline"
            ),
            models.CheckConstraint(condition=Q(health__in=Health.values), name="worker_health"),
            models.CheckConstraint(condition=Q(epoch__gte=0, seq__gte=0, version__gte=0), name="worker_counters"),
            models.CheckConstraint(
                condition=Q(heartbeat_seconds__gt=0, heartbeat_seconds__lte=3600), name="worker_heartbeat_range"
            ),
            models.CheckConstraint(
                condition=~Q(liveness=Liveness.ONLINE) | Q(last_seen_at__isnull=False, facts__isnull=False),
                name="worker_online_was_seen_and_has_facts",
            ),
        ]

    def __str__(self) -> str:
        return self.name
