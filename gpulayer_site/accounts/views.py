"""Signing in and out, and one's own profile."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import auth, messages
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from gpulayer_site.accounts import passwords, sessions, shown_once
from gpulayer_site.accounts.forms import SignInForm, TokenForm, ZoneForm
from gpulayer_site.accounts.middleware import person_of
from gpulayer_site.accounts.models import ApiToken, Person
from gpulayer_site.accounts.tokens import live_tokens, revoke_token
from workers.refusals import Refused
from workers.roles import Scope

_DOOR = settings.AUTHENTICATION_BACKENDS[0]


@sensitive_post_parameters()
@never_cache
def signin(request: HttpRequest) -> HttpResponse:
    """The sign-in form: user name and password, or a one-time code."""
    form = SignInForm(request.POST if request.method == "POST" else None, request=request)
    if request.method == "POST" and form.is_valid() and form.user is not None:
        auth.login(request, form.user, backend=_DOOR)
        return redirect(_next(request))
    status = 200 if request.method != "POST" else 429 if form.locked else 422
    response = render(request, "accounts/signin.html", {"form": form, "next": _next(request)}, status=status)
    if form.wait_seconds:
        response.headers["Retry-After"] = str(form.wait_seconds)
    return response


def locked_out(request: HttpRequest, response: HttpResponse, _credentials: dict[str, Any] | None) -> HttpResponse:
    """What django-axes answers for a door that is locked: the form has said it already, with the time."""
    return response


def signout(request: HttpRequest) -> HttpResponse:
    """End the session, here and on the server."""
    auth.logout(request)
    return redirect("signin")


@never_cache
def profile(request: HttpRequest) -> HttpResponse:
    """Who I am, my tokens, my sessions."""
    return _profile(request)


@never_cache
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token; the profile shows it, once. Loading that page again makes no other."""
    form = TokenForm(request.POST, user=_user(request))
    if not form.is_valid():
        return _profile(request, token_form=form, status=422)
    try:
        token, secret = form.create()
    except Refused as refusal:
        form.add_error(None, refusal.detail)
        return _profile(request, token_form=form, status=refusal.status)
    shown_once.keep(request, what="token", secret=secret)
    messages.success(request, f"Token “{token.note}” made.")
    return redirect("profile")


def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of my tokens."""
    token = get_object_or_404(ApiToken, pk=pk, user=_user(request))
    revoke_token(token=token, now=timezone.now())
    messages.success(request, f"Token {token.prefix}… is revoked.")
    return redirect("profile")


def theme_set(request: HttpRequest) -> HttpResponse:
    """How pages look and listen in this browser: light, dark or as the system says; single keys or none."""
    response = redirect("profile")
    theme = request.POST.get("theme", "")
    wanted = {"theme": theme if theme in ("light", "dark") else "", "keys": "" if request.POST.get("keys") else "off"}
    for name, value in wanted.items():
        if value:
            year = 365 * 24 * 3600
            response.set_cookie(name, value, max_age=year, samesite="Lax", secure=request.is_secure())
        else:
            response.delete_cookie(name, samesite="Lax")
    return response


def zone_set(request: HttpRequest) -> HttpResponse:
    """In which zone I read times: one that I choose, or the browser's."""
    form = ZoneForm(request.POST)
    if not form.is_valid():
        return _profile(request, zone_form=form, status=422)
    Person.objects.filter(user=_user(request)).update(time_zone=form.cleaned_data["zone"])
    return redirect("profile")


def sessions_end(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere else: other browsers of mine."""
    ended = sessions.end_sessions(_user(request), but=request.session.session_key)
    messages.success(request, f"Signed out of {ended} other session{'' if ended == 1 else 's'}.")
    return redirect("profile")


@sensitive_post_parameters()
@never_cache
def password_set(request: HttpRequest) -> HttpResponse:
    """Give myself a (new) password; other sessions of mine end, this one goes on."""
    form = _password_form(request, request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        status = 200 if request.method != "POST" else 422
        context = {"form": form, "due": person_of(_user(request)).must_change_password}
        return render(request, "accounts/password.html", context, status=status)
    user = _user(request)
    passwords.choose(user=user, password=form.cleaned_data["new_password1"], now=timezone.now())
    auth.update_session_auth_hash(request, user)
    request.session["epoch"] = user.person.epoch
    sessions.end_sessions(user, but=request.session.session_key)
    messages.success(request, "The password is set.")
    return redirect("profile")


def _profile(
    request: HttpRequest, *, token_form: TokenForm | None = None, zone_form: ZoneForm | None = None, status: int = 200
) -> HttpResponse:
    user, now = _user(request), timezone.now()
    person = person_of(user)
    context = {
        "person": person,
        "teams": sorted(user.groups.values_list("name", flat=True)),
        "tokens": [(token, _may(token)) for token in live_tokens(user, now=now)],
        "token_form": token_form or TokenForm(user=user),
        "zone_form": zone_form or ZoneForm(initial={"zone": person.time_zone}),
        "password_form": _password_form(request),
        "sessions": list(sessions.own_sessions(user, now=now)),
        "this_session": request.session.session_key,
        "new_token": shown_once.take(request, "token"),
    }
    return render(request, "accounts/profile.html", context, status=status)


def _may(token: ApiToken) -> str:
    """What the token may, in few words: its role, and for what where that is not everything."""
    scopes = "" if set(token.scopes) >= set(Scope) else f": {', '.join(token.scopes)}"
    return f"{token.role}{scopes}"


def _password_form(request: HttpRequest, data: QueryDict | None = None) -> SetPasswordForm[User]:
    """Asks for the old password too, where there is one."""
    user = _user(request)
    form = PasswordChangeForm(user, data) if user.has_usable_password() else SetPasswordForm(user, data)
    for field in form.fields.values():
        field.widget.attrs["class"] = "form-control"
    return form


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _next(request: HttpRequest) -> str:
    """Where to go after signing in: the page asked for, when it is one of ours."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if ours else "/"
