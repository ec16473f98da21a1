"""Files that come with jobs and files that jobs leave; the bytes lie in the storage, these rows say what is there."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Bundle(models.Model):
    """Files that a person packed and uploaded once, known by their hash."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bundles")
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    stored = models.PositiveBigIntegerField(default=0)
    """Bytes that are here so far; appended to by compare-and-set."""
    complete = models.BooleanField(default=False)
    """All of it is here, and its hash was checked."""
    created_at = models.DateTimeField()
    used_at = models.DateTimeField()
    """When it was last uploaded or named by a job."""

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=["owner", "sha256"], name="one_bundle_per_owner_and_hash"),
            models.CheckConstraint(condition=Q(stored__gte=0, stored__lte=F("size")), name="bundle_sizes"),
            models.CheckConstraint(condition=Q(complete=False) | Q(stored=F("size")), name="bundle_complete_is_whole"),
        ]

    def __str__(self) -> str:
        return f"{self.sha256[:12]}… of {self.owner_id}"


class OutputFile(models.Model):
    """One file that a task left in its output folder."""

    task = models.ForeignKey("scheduler.Task", on_delete=models.CASCADE, related_name="outputs")
    path = models.CharField(max_length=1000)
    """Relative to the output folder, with slashes."""
    size = models.PositiveBigIntegerField()
    stored = models.PositiveBigIntegerField(default=0)
    """Bytes that are here so far; appended to by compare-and-set."""
    sha256 = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("task", "path")
        constraints = [
            models.UniqueConstraint(fields=["task", "path"], name="one_output_per_task_and_path"),
            models.CheckConstraint(condition=~Q(path=""), name="output_has_a_path"),
            models.CheckConstraint(condition=Q(stored__gte=0, stored__lte=F("size")), name="output_sizes"),
        ]

    def __str__(self) -> str:
        return f"{self.path} of task {self.task_id}"
