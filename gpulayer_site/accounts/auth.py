"""Who is calling the people's API: a bearer token, or the session of a signed-in browser."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer, SessionAuth

from gpulayer_site.accounts.address import client_address
from gpulayer_site.accounts.tokens import user_of_token
from workers.caller import came_by


class UserToken(HttpBearer):
    """`Authorization: Bearer glu_…`; sets `request.user`."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """The token's owner, who carries what the token may, or None: not let in."""
        user = user_of_token(secret=token.strip(), now=timezone.now(), address=client_address(request))
        if user is not None:
            request.user = user
            came_by(f"token {user.api_token.prefix}")  # type: ignore[attr-defined]
        return user


class SessionUser(SessionAuth):
    """The browser's session, with CSRF protection; who has no session is not asked for a CSRF token."""

    def __call__(self, request: HttpRequest) -> Any | None:
        """The signed-in user, or None; a missing CSRF token of one who is signed in is a 403."""
        return super().__call__(request) if request.user.is_authenticated else None


session = SessionUser()
