"""Letting another machine in: enrolment tokens to make, see and end, with the commands for the new machine."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from workers import services
from workers.auth import create_enrolment_token
from workers.form_checks import one_line
from workers.models.worker import Origin
from workers.refusals import NotFound

MOST_USES = 10_000
MOST_SHOWN = 100
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _shown(widget: type[forms.Widget], css: str = "form-control", **attributes: str) -> forms.Widget:
    return widget(attrs={"class": css, "autocomplete": "off", **attributes})


class EnrolmentForm(forms.Form):
    """What a token is for."""

    note = forms.CharField(
        max_length=200, required=False, label="What for", validators=[one_line],
        widget=_shown(forms.TextInput, placeholder="gpu-07, rack 12"),
    )  # fmt: skip
    uses = forms.IntegerField(
        min_value=1, max_value=MOST_USES, initial=1, label="Machines", widget=_shown(forms.NumberInput)
    )
    origin = forms.ChoiceField(
        choices=[("", "as the machine says"), *Origin.choices], required=False, label="Tier",
        widget=_shown(forms.Select, "form-select"),
    )  # fmt: skip

    def create(self, user: User) -> str:
        """Make the token and return it: this is the only time that it is known."""
        secret, _ = create_enrolment_token(**self.cleaned_data, simulated=False, created_by=user, now=timezone.now())
        return secret


@never_cache
def enrolment(request: HttpRequest, **_: Any) -> HttpResponse:
    """The tokens there are; a POST makes another one and shows it, this once."""
    if request.method != "POST":
        return _page(request, EnrolmentForm())
    form = EnrolmentForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    assert isinstance(request.user, User)
    return _page(request, EnrolmentForm(), made=form.create(request.user))


def token_revoke(request: HttpRequest, pk: int, **_: Any) -> HttpResponse:
    """End a token."""
    try:
        token = services.revoke_token(token_id=pk, actor=f"user:{request.user.get_username()}", now=timezone.now())
        messages.success(request, f"Enrolment token {token.prefix}… is revoked.")
    except NotFound:
        messages.info(request, "There is no such enrolment token any more.")
    return redirect("enrolment")


def start_command(request: HttpRequest) -> str:
    """What starts the agent on another machine; the token is never part of it, as others there could read it."""
    url = settings.GPULAYER_URL or request.build_absolute_uri("/").rstrip("/")
    parts = urlsplit(url)
    plain = " --allow-http" if parts.scheme == "http" and parts.hostname not in LOOPBACK else ""
    return f"gpulayer worker start --url {url}{plain}"


def _page(request: HttpRequest, form: EnrolmentForm, *, made: str = "", status: int = 200) -> HttpResponse:
    context = {
        "nav": "workers",
        "form": form,
        "made": made,
        "tokens": services.live_tokens(now=timezone.now())[:MOST_SHOWN],
        "venv_command": f"~/gpulayer-agent/bin/{start_command(request)}",
    }
    return render(request, "workers/enrolment.html", context, status=status)
