"""Tokens in the admin: to see and to end, never to read or to make."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.services import revoke_token


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """Everybody's tokens."""

    list_display = ("prefix", "user", "note", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("revoked_at",)
    search_fields = ("prefix", "note", "user__username")
    actions = ("revoke",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Owners make their own: the secret is shown to them alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Nothing about a token can be edited."""
        return False

    @admin.action(description="Revoke the chosen tokens", permissions=["delete"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """End them."""
        ended = sum(revoke_token(token=token, now=timezone.now()) for token in queryset)
        self.message_user(request, f"{ended} revoked.")
