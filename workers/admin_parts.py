"""What the administration's pages share: who may see them, and rows that are evidence and nobody's to change."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString


class ForOperators(admin.ModelAdmin):
    """Open to every operator (staff), without permissions for each table."""

    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Operators see the app."""
        return _is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Operators see the rows."""
        return _is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Operators add rows."""
        return _is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Operators change rows."""
        return _is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Operators delete rows."""
        return _is_operator(request)


class Evidence(ForOperators):
    """Rows to look at: they come about by what happens, and stay."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


class EvidenceInline(admin.TabularInline):
    """The same below another row."""

    extra = 0
    can_delete = False
    show_change_link = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Operators see the rows."""
        return _is_operator(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


def actor_of(request: HttpRequest) -> str:
    """Who does it, for events."""
    return f"user:{request.user.get_username()}"


def as_json(value: Any) -> SafeString:
    """A value spelled out over several lines."""
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True))


def _is_operator(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_staff)
