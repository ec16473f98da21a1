"""Passes over the queue: who may run one, and what each of them saw and planned."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class PassLease(models.Model):
    """The one row that says who runs a pass. Its epoch grows whenever it changes hands."""

    name = models.CharField(max_length=40, unique=True)
    holder = models.CharField(max_length=200, blank=True)
    epoch = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    """Null: nobody holds it."""
    wanted = models.BooleanField(default=False)
    """A pass was asked for since the last one began."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(holder="", expires_at__isnull=True) | (~Q(holder="") & Q(expires_at__isnull=False)),
                name="lease_has_a_holder_until_it_expires",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, epoch {self.epoch}"


class PassState(models.TextChoices):
    """What became of a pass. Refused: its lease had gone to another before it was through."""

    RUNNING = "running"
    COMPLETE = "complete"
    REFUSED = "refused"


class SchedulingPass(models.Model):
    """One pass, with everything needed to see again what it saw.

    `view` and `placements` are compressed JSON (see `scheduler.services.records`): the fleet as changes to the pass
    before, or whole in a keyframe, and what was planned, in order.
    """

    number = models.PositiveBigIntegerField(unique=True)
    epoch = models.PositiveBigIntegerField()
    holder = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=PassState.choices, default=PassState.RUNNING)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    confirmed_at = models.DateTimeField()
    """When it was last found that nothing had changed since: the later passes that wrote no row of their own."""
    considered = models.PositiveIntegerField(default=0)
    placed = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    """Placements that were planned, and not made because the world had moved."""
    workers = models.PositiveIntegerField(default=0)
    queue_digest = models.CharField(max_length=64)
    """SHA-256 (hex) over the entries it considered, in order."""
    view_digest = models.CharField(max_length=64)
    """SHA-256 (hex) over the whole view, also where only changes are written down."""
    keyframe = models.BooleanField(default=False)
    view = models.BinaryField()
    placements = models.BinaryField()
    rules = models.CharField(max_length=64)
    """Revision of the rules that decided."""
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        verbose_name_plural = "scheduling passes"
        indexes = [models.Index(fields=["number"], condition=Q(keyframe=True), name="pass_keyframes")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=PassState.values), name="pass_state"),
            models.CheckConstraint(condition=Q(number__gte=1, epoch__gte=1), name="pass_numbers"),
            models.CheckConstraint(
                condition=Q(state=PassState.RUNNING) | Q(finished_at__isnull=False), name="pass_is_over_when_finished"
            ),
        ]

    def __str__(self) -> str:
        return f"pass {self.number}"


class QueueRollUp(models.Model):
    """What kept the queue waiting when the latest pass had decided it; only the newest one is kept.

    `data` is compressed JSON (see `scheduler.services.rollup_rows`): the jobs of each cause and of each thing that
    would help, by id, so that it can be told of those jobs alone that somebody may see.
    """

    pass_row = models.OneToOneField("scheduler.SchedulingPass", on_delete=models.CASCADE, related_name="roll_up")
    data = models.BinaryField()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-pass_row",)

    def __str__(self) -> str:
        return f"the queue after pass {self.pass_row_id}"
