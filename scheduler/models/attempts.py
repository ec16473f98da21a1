"""One try at a job: its attempt, the tasks of it, and the counter that fences are drawn from."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class AttemptState(models.TextChoices):
    """Where one try stands."""

    ASSIGNED = "assigned"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out", "timed out"
    REVOKED = "revoked"
    LOST = "lost"


ATTEMPT_ACTIVE = (AttemptState.ASSIGNED, AttemptState.RUNNING)


class FenceCounter(models.Model):
    """The one row that fences are drawn from; no number is ever drawn twice."""

    value = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_fence_counter")]

    def __str__(self) -> str:
        return str(self.value)


class Attempt(models.Model):
    """One try at running all tasks of a job. Every report about it carries its fence."""

    job = models.ForeignKey("scheduler.Job", on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    fence = models.PositiveBigIntegerField(unique=True)
    state = models.CharField(max_length=10, choices=AttemptState.choices, default=AttemptState.ASSIGNED)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    lease_seconds = models.PositiveIntegerField(null=True, blank=True)
    """How long the host may be out of contact before this is run elsewhere; null: it is never given up by itself."""
    leased_until = models.DateTimeField(null=True, blank=True)
    """By the server's clock; the host has ended it some time before."""
    master_port = models.PositiveIntegerField(null=True, blank=True)
    """Where rank 0 of a gang listens, as its agent found it free."""
    go_at = models.DateTimeField(null=True, blank=True)
    """Since when its tasks may start: all of them were claimed."""

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=["job"], condition=Q(active=True), name="one_active_attempt_per_job"),
            models.UniqueConstraint(fields=["job", "number"], name="one_attempt_per_number"),
            models.CheckConstraint(condition=Q(state__in=AttemptState.values), name="attempt_state"),
            models.CheckConstraint(condition=Q(number__gte=1, fence__gte=1), name="attempt_numbers"),
            models.CheckConstraint(
                condition=Q(lease_seconds__isnull=True, leased_until__isnull=True)
                | Q(lease_seconds__gte=1, leased_until__isnull=False),
                name="attempt_lease_has_an_end",
            ),
            models.CheckConstraint(
                condition=Q(master_port__isnull=True) | Q(master_port__gte=1, master_port__lte=65535),
                name="attempt_master_port",
            ),
            models.CheckConstraint(
                condition=Q(active=True, state__in=ATTEMPT_ACTIVE, ended_at__isnull=True)
                | (Q(active=False, ended_at__isnull=False) & ~Q(state__in=ATTEMPT_ACTIVE)),
                name="attempt_is_active_until_it_ends",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of job {self.job_id}"


class TaskState(models.TextChoices):
    """Where one task stands. `unknown`: contact lost while it may run; `lost` and `revoked` are final."""

    ASSIGNED = "assigned"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out", "timed out"
    CANCELLED = "cancelled"
    REVOKED = "revoked"
    UNKNOWN = "unknown"
    LOST = "lost"


TASK_UNFINISHED = (TaskState.ASSIGNED, TaskState.CLAIMED, TaskState.RUNNING, TaskState.UNKNOWN)
DRAINED = "drained"
"""Noted with a task whose worker was to be empty by now, while its agent is told to end it."""
ORDERLY = ("agent_stopped", DRAINED)
"""Failures that somebody meant, by stopping it: no sign that the job or the worker does any harm."""


class Task(models.Model):
    """One unit of placement on one worker. What it holds there, it holds until `released_at`."""

    attempt = models.ForeignKey("scheduler.Attempt", on_delete=models.CASCADE, related_name="tasks")
    rank = models.PositiveIntegerField(default=0)
    worker = models.ForeignKey("workers.Worker", on_delete=models.PROTECT, related_name="tasks")
    devices = models.JSONField(default=list)
    """Indices, ascending."""
    cpu_millicores = models.PositiveBigIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(default=0)
    disk_bytes = models.PositiveBigIntegerField(default=0)
    state = models.CharField(max_length=10, choices=TaskState.choices, default=TaskState.ASSIGNED)
    state_since = models.DateTimeField()
    exit_code = models.IntegerField(null=True, blank=True)
    signal = models.PositiveSmallIntegerField(null=True, blank=True)
    duration_ms = models.PositiveBigIntegerField(null=True, blank=True)
    log_size = models.PositiveBigIntegerField(default=0)
    """Bytes stored; appended to by compare-and-set."""
    log_sha256 = models.CharField(max_length=64, blank=True)
    log_cut = models.BooleanField(default=False)
    """The log reached its cap: what came after was not kept."""
    log_deleted_at = models.DateTimeField(null=True, blank=True)
    outputs_path = models.CharField(max_length=4096, blank=True)
    """The folder on the host in which its outputs lie."""
    outputs_note = models.TextField(blank=True)
    """What of its outputs was not brought here, and why."""
    outputs_complete = models.BooleanField(default=False)
    """The agent has brought what it will bring."""
    workdir = models.CharField(max_length=4096, blank=True)
    pid = models.PositiveBigIntegerField(null=True, blank=True)
    failure_code = models.CharField(max_length=60, blank=True)
    failure_text = models.TextField(blank=True)
    report = models.JSONField(null=True, blank=True)
    """The finish report that was taken: the same one again is fine, another is refused."""
    claimed_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("attempt", "rank")
        indexes = [
            models.Index(fields=["worker"], condition=Q(released_at__isnull=True), name="task_unreleased"),
            models.Index(fields=["worker", "state"], name="task_by_worker_and_state"),
            models.Index(fields=["attempt"], condition=Q(state=TaskState.UNKNOWN), name="task_silent"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "rank"], name="one_task_per_rank"),
            models.UniqueConstraint(fields=["attempt", "worker"], name="one_task_per_attempt_and_worker"),
            models.CheckConstraint(condition=Q(state__in=TaskState.values), name="task_state"),
            models.CheckConstraint(
                condition=Q(rank__gte=0, log_size__gte=0)
                & Q(cpu_millicores__gte=0, memory_bytes__gte=0, disk_bytes__gte=0),
                name="task_ranges",
            ),
            models.CheckConstraint(
                condition=(Q(state__in=TASK_UNFINISHED) & Q(finished_at__isnull=True))
                | (~Q(state__in=TASK_UNFINISHED) & Q(finished_at__isnull=False)),
                name="task_is_over_when_finished",
            ),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | Q(finished_at__isnull=False),
                name="task_releases_after_it_finished",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=(TaskState.CLAIMED, TaskState.RUNNING)) | Q(claimed_at__isnull=False),
                name="task_runs_after_it_was_claimed",
            ),
        ]

    def __str__(self) -> str:
        return f"task {self.pk} (rank {self.rank})"
