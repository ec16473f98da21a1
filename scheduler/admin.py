"""Jobs in the administration to look at and to act on; reservations to make and end."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler import admin_evidence
from scheduler.admin_forms import ReservationForm
from scheduler.models import Job, Reservation
from scheduler.services.jobs import cancel_job
from scheduler.services.pausing import pause_job, resume_job
from scheduler.services.reservations import amend, end_reservation, is_known, reserve
from workers.admin_below import below
from workers.admin_parts import Evidence, ForOperators, actor_of, as_json, each

__all__ = ["admin_evidence"]


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
    sortable_by = ()
    actions = ("end_chosen",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"reservation:{row.pk}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("reservations")

    def get_fields(self, request: HttpRequest, obj: Reservation | None = None) -> tuple[str, ...]:
        """The form, and for one that is there what came of it."""
        fields = ("worker", "devices", "holder", "starts_at", "ends_at", "note")
        return (*fields, "created_by", "created_at", "cancelled_at", "ended_cause") if obj else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Reservation | None = None) -> tuple[str, ...]:
        """A reservation stays with its worker."""
        return ("worker", "created_by", "created_at", "cancelled_at", "ended_cause") if obj else ()

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
        actor, now = actor_of(request), timezone.now()
        rows = queryset.select_related("worker")
        each(request, rows, lambda row: end_reservation(reservation=row, actor=actor, now=now), done="ended")

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


@admin.register(Job)
class JobAdmin(Evidence):
    """Jobs to find, and to act on as their own pages do."""

    list_display = (
        "job_id",
        "name",
        "owner",
        "team",
        "state",
        "submitted_at",
        "started_at",
        "finished_at",
        "exit_code",
    )
    list_filter = ("state", "simulated", "submitted_at")
    list_select_related = ("owner", "team")
    search_fields = ("job_id", "name", "owner__username")
    search_help_text = "Id, name or owner"
    exclude = ("spec", "secrets", "decision", "idempotency_digest", "bundle", "cloned_from")
    readonly_fields = ("made_from", "spelled_out", "attempts_below")
    actions = ("cancel_chosen", "pause_chosen", "resume_chosen")

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"job:{row.job_id}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("job", args=[row.job_id])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """A list needs neither documents nor anything sealed."""
        return super().get_queryset(request).defer("spec", "secrets", "failure_text")

    @admin.action(description="Cancel the chosen jobs")
    def cancel_chosen(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Cancel all of them that are not over."""
        actor, now = actor_of(request), timezone.now()
        done = "cancelled, or being cancelled by their agents"
        waiting = queryset.filter(finished_at=None)
        each(request, waiting, lambda job: cancel_job(job=job, actor=actor, now=now), done=done)

    @admin.action(description="Pause: keep them waiting")
    def pause_chosen(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Until they are resumed."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda job: pause_job(job=job, actor=actor, now=now), done="paused")

    @admin.action(description="Resume: let them be placed again")
    def resume_chosen(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """At the place in the queue that they had."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda job: resume_job(job=job, actor=actor, now=now), done="resumed")

    @admin.display(description="Made from")
    def made_from(self, job: Job) -> str:
        """The job that it is a copy of, and its files."""
        parts = (job.cloned_from and job.cloned_from.job_id, job.bundle and f"files {job.bundle}")
        return ", ".join(part for part in parts if part) or "–"

    @admin.display(description="Document")
    def spelled_out(self, job: Job) -> SafeString:
        """The job document as it was stored: secrets stand in it by name alone."""
        return as_json(job.spec)

    @admin.display(description="Attempts")
    def attempts_below(self, job: Job) -> SafeString | str:
        """The tries at it."""
        columns = ("number", "fence", "state", "created_at", "ended_at")
        return below(job.attempts.order_by("-number"), columns, more=f"q={job.job_id}")
