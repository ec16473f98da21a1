"""Jobs, decisions and passes in the administration to look at; reservations to make and end."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler.admin_forms import ReservationForm
from scheduler.models import Attempt, Decision, DeviceHold, Job, PassLease, Reservation, SchedulingPass, Task
from scheduler.services.jobs import cancel_job
from scheduler.services.reservations import amend, end_reservation, is_known, reserve
from workers.admin_parts import Evidence, EvidenceInline, ForOperators, actor_of, as_json


class ReservationPhase(admin.SimpleListFilter):
    """Whether a reservation keeps anybody off now."""

    title = "phase"
    parameter_name = "phase"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """In force, to come, over."""
        return [("now", "In force"), ("later", "To come"), ("over", "Over")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Reservation]) -> QuerySet[Reservation]:
        """Those of the chosen phase."""
        now = timezone.now()
        over = queryset.filter(cancelled_at__isnull=False) | queryset.filter(ends_at__lte=now)
        if self.value() == "over":
            return over
        if self.value() == "now":
            return queryset.filter(starts_at__lte=now).exclude(pk__in=over.values("pk"))
        if self.value() == "later":
            return queryset.filter(starts_at__gt=now).exclude(pk__in=over.values("pk"))
        return queryset


@admin.register(Reservation)
class ReservationAdmin(ForOperators):
    """Keep workers or devices for a job, a person or a team."""

    form = ReservationForm
    list_display = ("worker", "which", "holder", "starts_at", "ends_at", "phase", "note")
    list_filter = (ReservationPhase, "starts_at", "ends_at")
    list_select_related = ("worker",)
    search_fields = ("worker__name", "holder", "note")
    search_help_text = "Worker, holder or note"
    autocomplete_fields = ("worker",)
    actions = ("end_chosen",)

    def get_fields(self, request: HttpRequest, obj: Reservation | None = None) -> tuple[str, ...]:
        """The form, and for one that is there what came of it."""
        fields = ("worker", "devices", "holder", "starts_at", "ends_at", "note")
        return (*fields, "created_by", "created_at", "cancelled_at") if obj else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Reservation | None = None) -> tuple[str, ...]:
        """A reservation stays with its worker."""
        return ("worker", "created_by", "created_at", "cancelled_at") if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """From now on."""
        return {"starts_at": timezone.now().replace(microsecond=0), **super().get_changeform_initial_data(request)}

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """What is over is evidence."""
        return super().has_change_permission(request, obj) and not _is_over(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: reservations are ended, and stay in the records."""
        return False

    def save_model(self, request: HttpRequest, obj: Reservation, form: Any, change: bool) -> None:
        """Make or change it, with its event, and have a pass look at it."""
        actor, now = actor_of(request), timezone.now()
        if not is_known(obj.holder):
            messages.warning(request, f"Nobody is called {obj.holder} yet; until then this keeps everybody off.")
        if change:
            amend(reservation=obj, actor=actor, now=now)
            return
        made = reserve(
            worker=obj.worker, holder=obj.holder, starts_at=obj.starts_at, ends_at=obj.ends_at, devices=obj.devices,
            note=obj.note, actor=actor, now=now, created_by=request.user,
        )  # fmt: skip
        obj.pk, obj.created_at = made.pk, made.created_at

    @admin.action(description="End the chosen reservations now")
    def end_chosen(self, request: HttpRequest, queryset: QuerySet[Reservation]) -> None:
        """End all of them that are not over."""
        ended = sum(
            end_reservation(reservation=reservation, actor=actor_of(request), now=timezone.now())
            for reservation in queryset.select_related("worker")
        )
        messages.success(request, f"{ended} ended; {len(queryset) - ended} were over already.")

    @admin.display(description="Devices")
    def which(self, reservation: Reservation) -> str:
        """Device indices, or the whole worker."""
        return ", ".join(map(str, reservation.devices)) or "all"

    @admin.display(description="Phase")
    def phase(self, reservation: Reservation) -> str:
        """In force, to come or over."""
        if _is_over(reservation):
            return "over"
        return "in force" if reservation.starts_at <= timezone.now() else "to come"


def _is_over(reservation: Model | None) -> bool:
    if not isinstance(reservation, Reservation):
        return False
    ends_at = reservation.ends_at
    return reservation.cancelled_at is not None or (ends_at is not None and ends_at <= timezone.now())


class AttemptInline(EvidenceInline):
    """The tries at a job."""

    model = Attempt
    fields = ("number", "fence", "state", "created_at", "ended_at")


@admin.register(Job)
class JobAdmin(Evidence):
    """Jobs to find and cancel."""

    list_display = ("job_id", "name", "owner", "state", "submitted_at", "started_at", "finished_at", "exit_code")
    list_filter = ("state", "simulated", "submitted_at")
    list_select_related = ("owner",)
    search_fields = ("job_id", "name", "owner__username")
    search_help_text = "Id, name or owner"
    exclude = ("spec", "secrets", "decision", "idempotency_digest")
    readonly_fields = ("spelled_out",)
    inlines = (AttemptInline,)
    actions = ("cancel_chosen",)

    @admin.action(description="Cancel the chosen jobs")
    def cancel_chosen(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Cancel all of them that are not over."""
        for job in queryset:
            cancel_job(job=job, actor=actor_of(request), now=timezone.now())
        messages.success(request, f"{len(queryset)} cancelled, or being cancelled by their agents.")

    @admin.display(description="Document")
    def spelled_out(self, job: Job) -> SafeString:
        """The job document as it was stored."""
        return as_json(job.spec)


class TaskInline(EvidenceInline):
    """The tasks of an attempt."""

    model = Task
    fields = ("rank", "worker", "devices", "state", "exit_code", "signal", "claimed_at", "finished_at", "released_at")
    show_change_link = False


class HoldInline(EvidenceInline):
    """What a task holds or held."""

    model = DeviceHold
    fields = ("device", "worker", "released_at")
    show_change_link = False


@admin.register(Attempt)
class AttemptAdmin(Evidence):
    """Tries at jobs."""

    list_display = ("job", "number", "fence", "state", "created_at", "ended_at")
    list_filter = ("state", "active")
    list_select_related = ("job",)
    search_fields = ("job__job_id", "=fence")
    search_help_text = "Job id or fence"
    inlines = (TaskInline,)


@admin.register(Task)
class TaskAdmin(Evidence):
    """Tasks and what they hold."""

    list_display = ("id", "attempt", "rank", "worker", "devices", "state", "exit_code", "released_at")
    list_filter = ("state",)
    list_select_related = ("attempt", "worker")
    search_fields = ("attempt__job__job_id", "worker__name")
    search_help_text = "Job id or worker"
    inlines = (HoldInline,)


@admin.register(Decision)
class DecisionAdmin(Evidence):
    """Kept decisions, in their compact form."""

    list_display = ("job", "outcome", "kept", "pass_row", "position", "made_at", "seen_at")
    list_filter = ("outcome", "kept", "made_at")
    list_select_related = ("job", "pass_row")
    search_fields = ("job__job_id", "job__name")
    search_help_text = "Job id or name"
    exclude = ("summary",)
    readonly_fields = ("spelled_out",)

    @admin.display(description="Summary")
    def spelled_out(self, decision: Decision) -> SafeString:
        """What lists show of it."""
        return as_json(decision.summary)


@admin.register(SchedulingPass)
class SchedulingPassAdmin(Evidence):
    """Passes over the queue."""

    list_display = ("number", "state", "started_at", "confirmed_at", "considered", "placed", "refused", "duration_ms")
    list_filter = ("state", "keyframe", "started_at")
    search_fields = ("=number", "holder")
    search_help_text = "Number or holder"
    exclude = ("view", "placements")
    readonly_fields = ("size",)

    @admin.display(description="Stored bytes")
    def size(self, row: SchedulingPass) -> int:
        """Of the view and the placements, compressed."""
        return len(row.view) + len(row.placements)


@admin.register(PassLease)
class PassLeaseAdmin(Evidence):
    """Who runs a pass."""

    list_display = ("name", "holder", "epoch", "expires_at", "wanted")
