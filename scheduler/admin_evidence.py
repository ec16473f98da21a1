"""What came of jobs, in the administration to look at: attempts, tasks, holds, files, decisions, passes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from scheduler.models import (
    Attempt,
    Bundle,
    Decision,
    DeviceHold,
    FenceCounter,
    OutputFile,
    PassLease,
    SchedulingPass,
    Task,
    Upkeep,
    Watch,
)
from workers.admin_below import below
from workers.admin_parts import Evidence, as_json


@admin.register(Attempt)
class AttemptAdmin(Evidence):
    """Tries at jobs."""

    list_display = ("job", "number", "fence", "state", "created_at", "ended_at")
    list_filter = ("state", "active")
    list_select_related = ("job",)
    search_fields = ("job__job_id__exact", "fence__exact")
    search_help_text = "A whole job id or a fence"
    readonly_fields = ("tasks_below",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"attempt:{row.pk}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("job", args=[row.job.job_id])

    @admin.display(description="Tasks")
    def tasks_below(self, attempt: Attempt) -> SafeString | str:
        """By rank."""
        columns = (
            "rank",
            "worker",
            "devices",
            "state",
            "exit_code",
            "signal",
            "claimed_at",
            "finished_at",
            "released_at",
        )
        rows = attempt.tasks.select_related("worker").order_by("rank")
        return below(rows, columns, more=f"q={attempt.job.job_id}")


@admin.register(Task)
class TaskAdmin(Evidence):
    """Tasks and what they hold."""

    list_display = ("id", "attempt", "rank", "worker", "devices", "state", "exit_code", "released_at")
    list_filter = ("state", ("released_at", admin.EmptyFieldListFilter))
    list_select_related = ("attempt", "worker")
    search_fields = ("attempt__job__job_id__exact", "worker__name__exact")
    search_help_text = "A whole job id or worker"
    readonly_fields = ("holds_below", "outputs_below")

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"task:{row.pk}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("job", args=[row.attempt.job.job_id])

    @admin.display(description="Holds")
    def holds_below(self, task: Task) -> SafeString | str:
        """Devices that were given to it."""
        return below(task.holds.select_related("device", "worker").order_by("pk"), ("device", "worker", "released_at"))

    @admin.display(description="Outputs")
    def outputs_below(self, task: Task) -> SafeString | str:
        """Files that it left."""
        columns = ("path", "size", "stored", "created_at", "deleted_at")
        return below(task.outputs.order_by("path"), columns, more=f"q={task.pk}")


@admin.register(DeviceHold)
class DeviceHoldAdmin(Evidence):
    """Which device was given to which task."""

    list_display = ("task", "device", "worker", "released_at")
    list_filter = (("released_at", admin.EmptyFieldListFilter),)
    list_select_related = ("task", "device", "worker")
    search_fields = ("worker__name__exact", "task__attempt__job__job_id__exact")
    search_help_text = "A whole worker or job id"


@admin.register(OutputFile)
class OutputFileAdmin(Evidence):
    """Files that tasks left; they are read on their jobs' pages."""

    list_display = ("path", "task", "size", "stored", "created_at", "deleted_at")
    list_filter = (("deleted_at", admin.EmptyFieldListFilter),)
    list_select_related = ("task",)
    search_fields = ("task__attempt__job__job_id__exact", "task__pk__exact")
    search_help_text = "A whole job id, or a task's number"


@admin.register(Bundle)
class BundleAdmin(Evidence):
    """Files that people uploaded for jobs."""

    list_display = ("sha256", "owner", "size", "stored", "complete", "created_at", "used_at")
    list_filter = ("complete",)
    list_select_related = ("owner",)
    search_fields = ("sha256__startswith", "owner__username__exact")
    search_help_text = "The beginning of a hash, or a whole user name"


@admin.register(Decision)
class DecisionAdmin(Evidence):
    """Kept decisions, in their compact form."""

    list_display = ("job", "outcome", "kept", "pass_row", "position", "made_at", "seen_at")
    list_filter = ("outcome", "kept", "made_at")
    list_select_related = ("job", "pass_row")
    search_fields = ("job__job_id__exact", "job__name__exact")
    search_help_text = "A whole job id or name"
    exclude = ("summary",)
    readonly_fields = ("spelled_out",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decision]:
        """Of its pass and its job a list needs the names."""
        heavy = ("pass_row__view", "pass_row__placements", "job__spec", "job__secrets", "job__failure_text")
        return super().get_queryset(request).select_related("job", "pass_row").defer(*heavy)

    @admin.display(description="Summary")
    def spelled_out(self, decision: Decision) -> SafeString:
        """What lists show of it."""
        return as_json(decision.summary)


@admin.register(SchedulingPass)
class SchedulingPassAdmin(Evidence):
    """Passes over the queue."""

    list_display = ("number", "state", "started_at", "confirmed_at", "considered", "placed", "refused", "duration_ms")
    list_filter = ("state", "keyframe", "started_at")
    search_fields = ("number__exact", "holder__exact")
    search_help_text = "Number or holder"
    exclude = ("view", "placements")
    readonly_fields = ("size",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SchedulingPass]:
        """A list needs no views."""
        return super().get_queryset(request).defer("view", "placements")

    @admin.display(description="Stored bytes")
    def size(self, row: SchedulingPass) -> int:
        """Of the view and the placements, compressed."""
        return len(row.view) + len(row.placements)


@admin.register(PassLease)
class PassLeaseAdmin(Evidence):
    """Who runs a pass."""

    list_display = ("name", "holder", "epoch", "expires_at", "wanted")


@admin.register(FenceCounter)
class FenceCounterAdmin(Evidence):
    """The last fence that was drawn."""

    list_display = ("value",)


@admin.register(Upkeep)
class UpkeepAdmin(Evidence):
    """When what is old was last removed."""

    list_display = ("began_at", "finished_at", "complete", "removed", "swept_at")


@admin.register(Watch)
class WatchAdmin(Evidence):
    """What the server's own watch saw last."""

    list_display = ("wall_at", "up_since", "grace_until", "note", "noted_at")
