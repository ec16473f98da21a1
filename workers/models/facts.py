"""What a worker has: immutable versions of its facts, the live readings of its devices, and its labels."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from workers.models.trail import AppendOnly


class WorkerFacts(AppendOnly):
    """One version of what a worker reported of itself: a worker document without state, tasks and labels."""

    worker = models.ForeignKey("workers.Worker", on_delete=models.CASCADE, related_name="facts_versions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    """SHA-256 (hex) of the canonical document; the same facts again make no new version."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "worker facts"
        constraints = [
            models.UniqueConstraint(fields=["worker", "number"], name="one_facts_version_per_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="facts_number"),
            models.CheckConstraint(condition=~Q(digest=""), name="facts_digest"),
        ]

    def __str__(self) -> str:
        return f"facts {self.number} of worker {self.worker_id}"


class Device(models.Model):
    """One accelerator as last heard of. What it is, stands in the facts; here is how it does. Unknown is null."""

    worker = models.ForeignKey("workers.Worker", on_delete=models.CASCADE, related_name="devices")
    index = models.PositiveIntegerField()
    uuid = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001 - unknown uuids must not collide
    model = models.CharField(max_length=1000, blank=True)
    present = models.BooleanField(default=True)
    """False: accepted once, and not seen by the last probe."""
    healthy = models.BooleanField(null=True, blank=True)
    health_note = models.CharField(max_length=500, blank=True)
    utilisation = models.PositiveSmallIntegerField(null=True, blank=True)
    """Per cent."""
    memory_used = models.PositiveBigIntegerField(null=True, blank=True)
    """Bytes, by whomever."""
    foreign_memory = models.PositiveBigIntegerField(null=True, blank=True)
    """Bytes held by processes that no task here started."""
    processes = models.JSONField(default=list, blank=True)
    """As last reported: pid, user, memory (bytes), task or none."""
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("worker", "index")
        indexes = [models.Index(fields=["worker"], condition=Q(healthy=False), name="device_unhealthy")]
        constraints = [
            models.UniqueConstraint(fields=["worker", "uuid"], name="one_device_per_uuid"),
            models.UniqueConstraint(fields=["worker", "index"], condition=Q(present=True), name="one_device_per_index"),
            models.CheckConstraint(condition=Q(index__gte=0), name="device_index"),
            models.CheckConstraint(
                condition=Q(utilisation__isnull=True) | Q(utilisation__gte=0, utilisation__lte=100),
                name="device_utilisation",
            ),
            models.CheckConstraint(
                condition=(Q(memory_used__isnull=True) | Q(memory_used__gte=0))
                & (Q(foreign_memory__isnull=True) | Q(foreign_memory__gte=0)),
                name="device_memory",
            ),
        ]

    def __str__(self) -> str:
        return f"device {self.index} of worker {self.worker_id}"


class LabelSource(models.TextChoices):
    """Who says so. Where both do, the operator's value counts."""

    AGENT = "agent"
    OPERATOR = "operator"


class Label(models.Model):
    """One key and value that jobs may ask for."""

    worker = models.ForeignKey("workers.Worker", on_delete=models.CASCADE, related_name="labels")
    key = models.CharField(max_length=253)
    value = models.CharField(max_length=253, blank=True)
    source = models.CharField(max_length=10, choices=LabelSource.choices, default=LabelSource.OPERATOR)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ("worker", "key")
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "key", "source"],
                name="one_label_per_key_and_source",
                violation_error_message="This worker already has a label with this key.",
            ),
            models.CheckConstraint(condition=Q(source__in=LabelSource.values), name="label_source"),
            models.CheckConstraint(condition=~Q(key=""), name="label_has_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.key}={self.value}"
