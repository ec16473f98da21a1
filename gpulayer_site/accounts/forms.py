"""The forms of signing in and of the profile."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts import services, throttle
from gpulayer_site.accounts.address import client_address

_LIFETIMES = {"7": "in 7 days", "90": "in 90 days", "365": "in a year", "": "never"}


def _input(widget: type[forms.Widget], **attributes: str) -> forms.Widget:
    return widget(attrs={"class": "form-control", **attributes})


class SignInForm(forms.Form):
    """User name and password, or a one-time code; `user` is who signed in."""

    username = forms.CharField(
        max_length=150, required=False, label="User name", widget=_input(forms.TextInput, autocomplete="username")
    )
    password = forms.CharField(
        max_length=4096,
        required=False,
        strip=False,
        widget=_input(forms.PasswordInput, autocomplete="current-password"),
    )
    code = forms.CharField(
        max_length=64,
        required=False,
        label="One-time code",
        help_text="instead of name and password",
        widget=_input(forms.TextInput, autocomplete="one-time-code", spellcheck="false"),
    )

    WRONG_PASSWORD = "User name or password is wrong."
    WRONG_CODE = "This code is wrong, was used, or is older than 10 minutes. `gpulayer admin code` prints a new one."
    TOO_MANY = "Too many failed tries. Wait five minutes and try again."

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.user: User | None = None

    def clean(self) -> dict[str, Any]:
        """Find out who it is; every failure counts towards the throttle."""
        cleaned = super().clean() or {}
        code, username, password = (cleaned.get(name) or "" for name in ("code", "username", "password"))
        if not code and not (username and password):
            raise forms.ValidationError("Enter a user name and a password, or a one-time code.", code="incomplete")
        who = {"username": "" if code else username, "address": client_address(self.request)}
        if not throttle.may_try(now=timezone.now(), **who):
            raise forms.ValidationError(self.TOO_MANY, code="throttled")
        if code:
            self.user = services.use_sign_in_code(typed=code, now=timezone.now())
        else:
            self.user = authenticate(self.request, username=username, password=password)
        if self.user is None:
            throttle.note_failure(now=timezone.now(), **who)
            raise forms.ValidationError(self.WRONG_CODE if code else self.WRONG_PASSWORD, code="wrong")
        throttle.forget(**who)
        return cleaned

    @property
    def throttled(self) -> bool:
        """Whether the try was refused unheard."""
        return self.has_error(NON_FIELD_ERRORS, "throttled")


class TokenForm(forms.Form):
    """A new token: where it will live and for how long."""

    note = forms.CharField(
        max_length=100,
        label="Name",
        widget=_input(forms.TextInput, placeholder="where it will live", autocomplete="off"),
    )
    expires = forms.ChoiceField(
        choices=list(_LIFETIMES.items()),
        required=False,
        initial="90",
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def create(self, user: User) -> str:
        """Make the token and return its secret."""
        now = timezone.now()
        days = self.cleaned_data["expires"]
        expires_at = now + timedelta(days=int(days)) if days else None
        _, secret = services.create_token(user=user, note=self.cleaned_data["note"], now=now, expires_at=expires_at)
        return secret
