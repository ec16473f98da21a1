"""Workers in the administration: labels, drains and trust to set, everything else to look at."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from workers import admin_access, admin_trail, services
from workers.admin_below import below
from workers.admin_parts import Evidence, ForOperators, actor_of, as_json, each
from workers.models import Device, Label, LabelSource, Notice, Worker, WorkerFacts
from workers.services.notices import end_notice
from workers.services.operator_labels import check_label, remove_label, set_label

__all__ = ["admin_access", "admin_trail"]


class LabelForm(forms.ModelForm):
    """An operator's label."""

    class Meta:
        model = Label
        fields = ("worker", "key", "value")
        help_texts = {
            "key": "What jobs ask for under placement.worker_labels. It wins over the agent's label of the same key.",
            "value": "Compared exactly, letter case included.",
        }

    def clean(self) -> dict[str, Any]:
        """Refuse keys of the system and what no job could ask for."""
        said = super().clean() or {}
        if "key" in said and "value" in said:
            check_label(said["key"], said["value"])
            worker = said.get("worker") or self.instance.worker_id
            taken = Label.objects.filter(worker=worker, key=said["key"], source=LabelSource.OPERATOR)
            if taken.exclude(pk=self.instance.pk).exists():
                raise ValidationError({"key": "This worker already has an operator's label with this key."})
        return said


@admin.register(Label)
class LabelAdmin(ForOperators):
    """Labels of operators to set, those of agents to look at."""

    form = LabelForm
    list_display = ("worker", "key", "value", "source", "created_by")
    list_filter = ("source",)
    list_select_related = ("worker", "created_by")
    search_fields = ("worker__name", "key", "value")
    search_help_text = "Worker, key or value"
    autocomplete_fields = ("worker",)
    sortable_by = ()

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"label:{row.worker.name}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("worker", args=[row.worker.name])

    def get_readonly_fields(self, request: HttpRequest, obj: Label | None = None) -> tuple[str, ...]:
        """A label stays with its worker and keeps its key."""
        return ("worker", "key") if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """What agents say is theirs to change."""
        return super().has_change_permission(request, obj) and _is_operators(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """The same."""
        return super().has_delete_permission(request, obj) and _is_operators(obj)

    def save_model(self, request: HttpRequest, obj: Label, form: Any, change: bool) -> None:
        """Set the label, with its event, and have a pass look at it."""
        label = set_label(
            worker=obj.worker, key=obj.key, value=obj.value, actor=actor_of(request), now=timezone.now(),
            created_by=request.user,
        )  # fmt: skip
        obj.pk = label.pk

    def delete_model(self, request: HttpRequest, obj: Label) -> None:
        """Take the label off, with its event."""
        remove_label(label=obj, actor=actor_of(request), now=timezone.now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Label]) -> None:
        """Take off those of operators; those of agents stay."""
        for label in queryset.filter(source=LabelSource.OPERATOR).select_related("worker"):
            self.delete_model(request, label)


@admin.register(Worker)
class WorkerAdmin(Evidence):
    """Workers to find, and to act on as their own pages do."""

    list_display = ("name", "origin", "liveness", "intent", "health", "simulated", "last_seen_at")
    list_filter = ("liveness", "intent", "health", "origin", "simulated")
    search_fields = ("name",)
    search_help_text = "Name"
    exclude = ("credential", "offered_facts", "facts")
    readonly_fields = ("credential_name", "facts_version", "labels_below", "devices_below")
    actions = ("drain_chosen", "undrain_chosen", "trust_chosen", "rotate_chosen", "revoke_chosen")

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"worker:{row.name}"

    def page_of(self, row: Any) -> str:
        """Where people look at it."""
        return reverse("worker", args=[row.name])

    @admin.action(description="Drain: give them no more work")
    def drain_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """What runs there runs on."""
        actor, now = actor_of(request), timezone.now()
        keys = {row.pk for row in queryset}
        changed = set(services.drain_all(list(keys), note="drained in the admin", actor=actor, now=now))
        each(request, queryset, lambda worker: worker.pk in changed, done="drained; what runs there runs on")

    @admin.action(description="Undrain: let them have work again")
    def undrain_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Let all of them have work again."""
        actor, now = actor_of(request), timezone.now()
        changed = set(services.undrain_all([row.pk for row in queryset], actor=actor, now=now))
        each(request, queryset, lambda worker: worker.pk in changed, done="may have work again")

    @admin.action(description="Trust: count them as healthy again")
    def trust_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """What failed there so far counts no more."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda row: services.trust(name=row.name, actor=actor, now=now), done="trusted again")

    @admin.action(description="Rotate: have their agents replace their credentials")
    def rotate_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """At their next call."""
        actor, now = actor_of(request), timezone.now()
        done = "replace their credentials at their next call"
        each(request, queryset, lambda row: services.ask_to_rotate(name=row.name, actor=actor, now=now), done=done)

    @admin.action(description="Revoke: end their credentials and whatever runs there")
    def revoke_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Their agents are let in no more."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda row: services.revoke(name=row.name, actor=actor, now=now), done="revoked")

    @admin.display(description="Credential")
    def credential_name(self, worker: Worker) -> str:
        """Its first characters."""
        return str(worker.credential or "–")

    @admin.display(description="Facts")
    def facts_version(self, worker: Worker) -> str:
        """Which version is in force."""
        return f"version {worker.facts.number}" if worker.facts else "–"

    @admin.display(description="Labels")
    def labels_below(self, worker: Worker) -> SafeString | str:
        """Those of its agent and of operators."""
        return below(worker.labels.order_by("key"), ("key", "value", "source"), more=f"q={worker.name}")

    @admin.display(description="Devices")
    def devices_below(self, worker: Worker) -> SafeString | str:
        """How they do."""
        columns = ("index", "model", "present", "healthy", "health_note", "utilisation", "memory_used")
        return below(worker.devices.order_by("index"), columns, more=f"q={worker.name}")


@admin.register(Device)
class DeviceAdmin(Evidence):
    """Devices as last heard of."""

    list_display = ("worker", "index", "model", "present", "healthy", "health_note", "utilisation", "read_at")
    list_filter = ("present", "healthy")
    list_select_related = ("worker",)
    search_fields = ("worker__name", "model", "uuid")
    search_help_text = "Worker, model or uuid"


@admin.register(WorkerFacts)
class WorkerFactsAdmin(Evidence):
    """Every version of what workers said of themselves."""

    list_display = ("worker", "number", "digest", "created_at")
    list_select_related = ("worker",)
    search_fields = ("worker__name",)
    search_help_text = "Worker"
    exclude = ("document",)
    readonly_fields = ("spelled_out",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerFacts]:
        """A list needs no documents."""
        return super().get_queryset(request).defer("document")

    @admin.display(description="Document")
    def spelled_out(self, facts: WorkerFacts) -> SafeString:
        """The document as it was stored."""
        return as_json(facts.document)


@admin.register(Notice)
class NoticeAdmin(Evidence):
    """What everybody was told."""

    list_display = ("text", "level", "created_by", "created_at", "ends_at", "ended_at")
    list_filter = ("level",)
    list_select_related = ("created_by",)
    search_fields = ("text",)
    actions = ("end_chosen",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"notice:{row.pk}"

    @admin.action(description="Take them down")
    def end_chosen(self, request: HttpRequest, queryset: QuerySet[Notice]) -> None:
        """They are shown no more."""
        actor, now = actor_of(request), timezone.now()
        each(request, queryset, lambda row: end_notice(notice_id=row.pk, actor=actor, now=now), done="taken down")


def _is_operators(label: Model | None) -> bool:
    return not isinstance(label, Label) or label.source == LabelSource.OPERATOR
