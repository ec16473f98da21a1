"""Workers in the administration: labels and drains to set, everything else to look at."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from workers.admin_parts import Evidence, EvidenceInline, ForOperators, actor_of, as_json
from workers.models import Credential, Device, EnrolmentToken, Event, Label, LabelSource, Worker, WorkerFacts
from workers.services import drain, undrain
from workers.services.operator_labels import check_label, remove_label, set_label


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
            worker = said.get("worker") or self.instance.worker
            taken = Label.objects.filter(worker=worker, key=said["key"], source=LabelSource.OPERATOR)
            if taken.exclude(pk=self.instance.pk).exists():
                raise ValidationError({"key": "This worker already has an operator's label with this key."})
        return said


@admin.register(Label)
class LabelAdmin(ForOperators):
    """Labels of operators to set, those of agents to look at."""

    form = LabelForm
    list_display = ("worker", "key", "value", "source", "created_by")
    list_filter = ("source", "key")
    list_select_related = ("worker", "created_by")
    search_fields = ("worker__name", "key", "value")
    search_help_text = "Worker, key or value"
    autocomplete_fields = ("worker",)

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


class DeviceInline(EvidenceInline):
    """How a worker's devices do."""

    model = Device
    fields = ("index", "model", "present", "healthy", "health_note", "utilisation", "memory_used", "foreign_memory")
    show_change_link = False


class LabelInline(EvidenceInline):
    """Its labels."""

    model = Label
    fields = ("key", "value", "source")


@admin.register(Worker)
class WorkerAdmin(Evidence):
    """Workers to find, drain and undrain."""

    list_display = ("name", "origin", "liveness", "intent", "health", "simulated", "last_seen_at")
    list_filter = ("liveness", "intent", "health", "origin", "simulated")
    search_fields = ("name",)
    search_help_text = "Name"
    exclude = ("credential",)
    inlines = (LabelInline, DeviceInline)
    actions = ("drain_chosen", "undrain_chosen")

    @admin.action(description="Drain: give them no more work")
    def drain_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Drain all of them that are live."""
        for worker in queryset:
            drain(name=worker.name, note="drained in the admin", actor=actor_of(request), now=timezone.now())
        messages.success(request, f"{len(queryset)} drained; what runs there runs on.")

    @admin.action(description="Undrain: let them have work again")
    def undrain_chosen(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Let all of them have work again."""
        for worker in queryset:
            undrain(name=worker.name, actor=actor_of(request), now=timezone.now())
        messages.success(request, f"{len(queryset)} may have work again.")


@admin.register(WorkerFacts)
class WorkerFactsAdmin(Evidence):
    """Every version of what workers said of themselves."""

    list_display = ("worker", "number", "digest", "created_at")
    list_select_related = ("worker",)
    search_fields = ("worker__name",)
    exclude = ("document",)
    readonly_fields = ("spelled_out",)

    @admin.display(description="Document")
    def spelled_out(self, facts: WorkerFacts) -> SafeString:
        """The document as it was stored."""
        return as_json(facts.document)


@admin.register(Event)
class EventAdmin(Evidence):
    """The trail."""

    list_display = ("at", "actor", "subject_kind", "subject", "verb", "before", "after", "cause")
    list_filter = ("subject_kind", "verb", "at")
    search_fields = ("subject", "actor", "cause")
    search_help_text = "Subject such as j-12 or gpu-07, actor, cause"


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(Evidence):
    """Tokens by which workers may enrol; the tokens themselves are shown once, when made."""

    list_display = ("prefix", "note", "origin", "simulated", "uses_left", "expires_at", "created_by")
    list_select_related = ("created_by",)
    search_fields = ("prefix", "note")
    exclude = ("hash",)


@admin.register(Credential)
class CredentialAdmin(Evidence):
    """What agents sign their calls with."""

    list_display = ("prefix", "fleet", "created_at", "last_used_at", "rotated_at", "revoked_at")
    list_filter = ("fleet",)
    search_fields = ("prefix", "workers__name")
    exclude = ("hash", "next_hash")


def _is_operators(label: Model | None) -> bool:
    return not isinstance(label, Label) or label.source == LabelSource.OPERATOR
