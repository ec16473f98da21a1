"""The administration as this site has it: for operators, by the same door as everything else."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest
from django.shortcuts import redirect

from workers.roles import is_operator


class OurAdmin(AdminSite):
    """Django's administration, let in by role; passwords are changed in the profile."""

    site_title = "gpulayer admin"
    site_header = "gpulayer"
    index_title = "Everything that is kept"
    empty_value_display = "–"

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether whoever asks keeps the fleet."""
        return is_operator(request.user)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """There is one place for that."""
        return redirect("profile")

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """There is one way out, which takes a form."""
        return redirect("profile")


class AdminApp(AdminConfig):
    """Puts it in the place of Django's own."""

    default_site = "gpulayer_site.admin_site.OurAdmin"
