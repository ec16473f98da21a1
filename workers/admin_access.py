"""What machines come in with, in the administration: to see and to end, never to read or to make."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from workers import services
from workers.admin_below import below
from workers.admin_parts import Evidence, actor_of, each
from workers.models import Credential, EnrolmentToken


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(Evidence):
    """Tokens by which workers may enrol; the tokens themselves are shown once, when made."""

    list_display = ("prefix", "note", "origin", "simulated", "uses_left", "expires_at", "created_by")
    list_filter = ("origin", "simulated")
    list_select_related = ("created_by",)
    search_fields = ("prefix", "note")
    search_help_text = "First characters or note"
    exclude = ("hash",)
    actions = ("revoke_chosen",)

    def trail_of(self, row: Any) -> str:
        """As events call it."""
        return f"token:{row.prefix}"

    @admin.action(description="Revoke: they let nobody in any more")
    def revoke_chosen(self, request: HttpRequest, queryset: QuerySet[EnrolmentToken]) -> None:
        """Who came in by them stays."""
        actor, now = actor_of(request), timezone.now()
        each(
            request, queryset, lambda row: services.revoke_token(token_id=row.pk, actor=actor, now=now), done="revoked"
        )


@admin.register(Credential)
class CredentialAdmin(Evidence):
    """What agents sign their calls with; a worker's is ended on the worker's page."""

    list_display = ("prefix", "fleet", "created_at", "last_used_at", "rotated_at", "revoked_at")
    list_filter = ("fleet", ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("prefix", "workers__name")
    search_help_text = "First characters or worker"
    exclude = ("hash", "next_hash")
    readonly_fields = ("workers_below",)

    @admin.display(description="Workers")
    def workers_below(self, credential: Credential) -> SafeString | str:
        """Who calls with it."""
        return below(credential.workers.order_by("name"), ("name", "liveness", "intent", "last_seen_at"))
