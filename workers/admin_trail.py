"""The trail in the administration. Its own page finds more, and has its files."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from workers.admin_parts import Evidence, PeoplesEvidence, as_json
from workers.models import Event, TrailSeal
from workers.roles import is_administrator
from workers.services.trail import KINDS, PEOPLES, seen_by_operators


class KindFilter(admin.SimpleListFilter):
    """What events are about."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Those that whoever asks may see, from the code: not from a million rows."""
        kinds = KINDS if is_administrator(request.user) else [kind for kind in KINDS if kind not in PEOPLES]
        return [(kind, kind.replace("_", " ")) for kind in kinds]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Those of the chosen kind."""
        return queryset.filter(subject_kind=self.value()) if self.value() in KINDS else queryset


@admin.register(Event)
class EventAdmin(Evidence):
    """The trail."""

    list_display = ("at", "actor", "subject_kind", "subject", "verb", "before", "after", "cause", "address", "via")
    list_filter = (KindFilter, "at")
    search_fields = ("subject",)
    search_help_text = "A whole subject such as j-12 or gpu-07, or a whole actor such as user:mira"
    exclude = ("detail",)
    readonly_fields = ("spelled_out",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Operators see what is done with the fleet."""
        rows = super().get_queryset(request)
        return rows if is_administrator(request.user) else rows.filter(seen_by_operators())

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By an index: parts of words are for the page of the trail."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(Q(subject_kind__in=KINDS, subject=term) | Q(actor=term)), False

    @admin.display(description="Detail")
    def spelled_out(self, event: Event) -> SafeString:
        """What else it says."""
        return as_json(event.detail)


@admin.register(TrailSeal)
class TrailSealAdmin(PeoplesEvidence):
    """The seals over the trail."""

    list_display = ("first", "last", "events", "digest", "sealed_at")
    search_fields = ("digest",)
    exclude = ("marks",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrailSeal]:
        """Without what only a check reads."""
        return super().get_queryset(request).defer("marks")
