"""The one door: names with passwords and one-time codes, both behind the same lock."""

from __future__ import annotations

from typing import Any

from axes.backends import AxesStandaloneBackend
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts import services
from gpulayer_site.accounts.passwords import use_temporary


class Door(AxesStandaloneBackend, ModelBackend):
    """Who a name and a password, or a code, let in; PermissionDenied, unheard, for who failed too often."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        code: str | None = None,
        **more: Any,
    ) -> User | None:
        """The user, or None. A temporary password is used up by this."""
        AxesStandaloneBackend.authenticate(self, request, username=username, **more)
        if code is not None:
            return services.use_sign_in_code(typed=code, now=timezone.now())
        user = ModelBackend.authenticate(self, request, username=username, password=password)
        if user is None or not use_temporary(user=user, now=timezone.now()):
            return None
        return user

    def get_user(self, user_id: int) -> User | None:
        """The user of a session, together with the person."""
        user = User.objects.select_related("person").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None
