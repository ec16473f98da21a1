"""Tokens in the admin: to see and to end, never to read or to make; and which account on the hosts is whose."""

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts.models import ApiToken, UnixAccount
from gpulayer_site.accounts.services import note_unix_account
from gpulayer_site.accounts.tokens import revoke_token
from workers.admin_parts import actor_of

_ACCOUNT_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}[a-z0-9_$-]?")


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


class UnixAccountForm(forms.ModelForm):
    """Whose account it is, and its name."""

    class Meta:
        model = UnixAccount
        fields = ("user", "name")
        help_texts = {
            "name": "The account that this person's jobs run as, on hosts whose agent was started with "
            "--run-as-submitter. It has to exist there, with a uid of at least 1000.",
        }

    def clean_name(self) -> str:
        """Refuse what is no account's name, and the one that may do everything."""
        name = str(self.cleaned_data["name"]).strip()
        if not _ACCOUNT_NAME.fullmatch(name):
            raise forms.ValidationError("An account's name: lower-case letters, digits, _ and -, at most 32 of them.")
        if name == "root":
            raise forms.ValidationError("Jobs never run as root.")
        return name


@admin.register(UnixAccount)
class UnixAccountAdmin(admin.ModelAdmin):
    """For administrators: who may name an account may run commands as it, on every such host."""

    form = UnixAccountForm
    list_display = ("user", "name")
    list_select_related = ("user",)
    search_fields = ("user__username", "name")
    autocomplete_fields = ("user",)

    def get_readonly_fields(self, request: HttpRequest, obj: UnixAccount | None = None) -> tuple[str, ...]:
        """An account that is there stays its person's."""
        return ("user",) if obj else ()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Administrators see it."""
        return _is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: UnixAccount | None = None) -> bool:
        """Administrators see who has which."""
        return _is_administrator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Administrators give one."""
        return _is_administrator(request)

    def has_change_permission(self, request: HttpRequest, obj: UnixAccount | None = None) -> bool:
        """Administrators give another one."""
        return _is_administrator(request)

    def has_delete_permission(self, request: HttpRequest, obj: UnixAccount | None = None) -> bool:
        """Administrators take it away."""
        return _is_administrator(request)

    def save_model(self, request: HttpRequest, obj: UnixAccount, form: Any, change: bool) -> None:
        """Keep it, with its event."""
        before = str(form.initial.get("name") or "")
        super().save_model(request, obj, form, change)
        note_unix_account(user=obj.user, before=before, after=obj.name, actor=actor_of(request), now=timezone.now())

    def delete_model(self, request: HttpRequest, obj: UnixAccount) -> None:
        """Take it away, with its event."""
        note_unix_account(user=obj.user, before=obj.name, after="", actor=actor_of(request), now=timezone.now())
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UnixAccount]) -> None:
        """The same for each of them."""
        for account in queryset.select_related("user"):
            self.delete_model(request, account)


def _is_administrator(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)
