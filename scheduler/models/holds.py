"""Who holds which device."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class DeviceHold(models.Model):
    """One device given to one task. The database refuses a second one until this is released."""

    task = models.ForeignKey("scheduler.Task", on_delete=models.CASCADE, related_name="holds")
    device = models.ForeignKey("workers.Device", on_delete=models.PROTECT, related_name="holds")
    worker = models.ForeignKey("workers.Worker", on_delete=models.PROTECT, related_name="holds")
    released_at = models.DateTimeField(null=True, blank=True)
    idle_since = models.DateTimeField(null=True, blank=True)
    """Since when the device has been read as hardly busy while this held it; null: it is busy, or nobody knows."""

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index(fields=["worker"], condition=Q(released_at__isnull=True), name="hold_unreleased")]
        constraints = [
            models.UniqueConstraint(
                fields=["device"], condition=Q(released_at__isnull=True), name="one_live_hold_per_device"
            ),
            models.UniqueConstraint(fields=["task", "device"], name="one_hold_per_task_and_device"),
        ]

    def __str__(self) -> str:
        return f"device {self.device_id} held by task {self.task_id}"
