"""The forms of signing in and of the profile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts.lockout import CODES, Lock
from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.tokens import make_token
from gpulayer_site.accounts.zones import zone_names
from workers.form_checks import one_line
from workers.moments import duration, minute
from workers.roles import Role, Scope, role_of

_LIFETIMES = {"7": "in 7 days", "90": "in 90 days", "365": "in a year", "": "never"}
_KINDS = {
    "all": ("all that its role may", tuple(Scope)),
    "jobs": ("read, and submit and change jobs", (Scope.READ, Scope.JOBS)),
    "fleet": ("read, and keep the fleet", (Scope.READ, Scope.FLEET)),
    "read": ("read only", (Scope.READ,)),
}
"""What the form offers for a token's scopes; the API takes any choice of them."""


def shown(widget: type[forms.Widget], css: str = "form-control", **attributes: str) -> forms.Widget:
    """A widget in the look of the pages."""
    return widget(attrs={"class": css, **attributes})


class SignInForm(forms.Form):
    """User name and password, or a one-time code; `user` is who signed in."""

    username = forms.CharField(
        max_length=150, required=False, label="User name", widget=shown(forms.TextInput, autocomplete="username")
    )
    password = forms.CharField(
        max_length=4096,
        required=False,
        strip=False,
        widget=shown(forms.PasswordInput, autocomplete="current-password"),
    )
    code = forms.CharField(
        max_length=64,
        required=False,
        label="One-time code",
        help_text="instead of name and password",
        widget=shown(forms.TextInput, autocomplete="one-time-code", spellcheck="false"),
    )

    WRONG_PASSWORD = "User name or password is wrong."
    WRONG_CODE = "This code is wrong, was used, or is older than 10 minutes. `gpulayer admin code` prints a new one."

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.user: User | None = None
        self.wait_seconds = 0
        """After how long the next try is heard, where this one was not, or was one too many."""

    def clean(self) -> dict[str, Any]:
        """Find out who it is; every failure counts towards the lock."""
        cleaned = super().clean() or {}
        code, username, password = (cleaned.get(name) or "" for name in ("code", "username", "password"))
        if not code and not (username and password):
            raise forms.ValidationError("Enter a user name and a password, or a one-time code.", code="incomplete")
        given = {"username": CODES, "code": code} if code else {"username": username, "password": password}
        self.user = authenticate(self.request, **given)
        if self.user is None:
            if getattr(self.request, "axes_locked_out", False):
                raise forms.ValidationError(self._too_many(given["username"]), code="locked")
            raise forms.ValidationError(self.WRONG_CODE if code else self.WRONG_PASSWORD, code="wrong")
        return cleaned

    @property
    def locked(self) -> bool:
        """Whether the next try has to wait."""
        return self.has_error(NON_FIELD_ERRORS, "locked")

    def _too_many(self, username: str) -> str:
        lock, now = AxesProxyHandler.get_implementation(), timezone.now()
        assert isinstance(lock, Lock)
        free_at = lock.free_at(self.request, {"username": username}) or now
        self.wait_seconds = max(1, int((free_at - now).total_seconds()) + 1)
        at = minute(free_at + timedelta(minutes=1), now=now)
        return f"Too many failed tries. Try again at {at}, in {duration(self.wait_seconds, coarse=True)}."


class TokenForm(forms.Form):
    """A new token: where it will live, what it may and for how long."""

    note = forms.CharField(
        max_length=100,
        label="Name",
        validators=[one_line],
        widget=shown(forms.TextInput, placeholder="where it will live", autocomplete="off"),
    )
    role = forms.ChoiceField(required=False, label="At most", widget=shown(forms.Select, "form-select"))
    kind = forms.ChoiceField(
        choices=[(name, words) for name, (words, _) in _KINDS.items()],
        required=False,
        label="May",
        widget=shown(forms.Select, "form-select"),
    )
    expires = forms.ChoiceField(
        choices=list(_LIFETIMES.items()), required=False, initial="90", widget=shown(forms.Select, "form-select")
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        own = role_of(user) or Role.VIEWER
        roles = [role for role in reversed(Role) if own.reaches(role)]
        self.fields["role"].choices = [(role.value, role.label.lower()) for role in roles]  # type: ignore[attr-defined]

    def create(self) -> tuple[ApiToken, str]:
        """Make the token and return it with its secret."""
        now, data = timezone.now(), self.cleaned_data
        return make_token(
            caller=self.user,
            note=data["note"],
            now=now,
            role=Role(data["role"]) if data["role"] else None,
            scopes=_KINDS[data["kind"] or "all"][1],
            expires_at=now + timedelta(days=int(data["expires"])) if data["expires"] else None,
        )


class ZoneForm(forms.Form):
    """In which zone times are shown."""

    zone = forms.ChoiceField(required=False, label="Times in")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(name, name) for name in zone_names()]
        self.fields["zone"].choices = [("", "the browser's zone"), *names]  # type: ignore[attr-defined]
