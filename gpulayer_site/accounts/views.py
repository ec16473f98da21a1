"""Signing in and out, and one's own profile."""

from __future__ import annotations

from django.contrib import auth, messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from gpulayer_site.accounts import services
from gpulayer_site.accounts.forms import SignInForm, TokenForm
from gpulayer_site.accounts.models import ApiToken


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def signin(request: HttpRequest) -> HttpResponse:
    """The sign-in form: user name and password, or a one-time code."""
    form = SignInForm(request.POST if request.method == "POST" else None, request=request)
    if request.method == "POST" and form.is_valid() and form.user is not None:
        auth.login(request, form.user, backend="django.contrib.auth.backends.ModelBackend")
        return redirect(_next(request))
    status = 200 if request.method != "POST" else 429 if form.throttled else 422
    return render(request, "accounts/signin.html", {"form": form, "next": _next(request)}, status=status)


@require_POST
def signout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    auth.logout(request)
    return redirect("signin")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD"])
def profile(request: HttpRequest) -> HttpResponse:
    """Who I am, and my tokens."""
    return _profile(request, TokenForm(), _password_form(request))


@login_required
@never_cache
@require_POST
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    password = _password_form(request)
    if not form.is_valid():
        return _profile(request, form, password, status=422)
    return _profile(request, TokenForm(), password, new_token=form.create(_user(request)))


@login_required
@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of my tokens."""
    token = get_object_or_404(ApiToken, pk=pk, user=_user(request))
    services.revoke_token(token=token, now=timezone.now())
    messages.success(request, f"Token {token.prefix}… is revoked.")
    return redirect("profile")


@login_required
@require_POST
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


@sensitive_post_parameters()
@login_required
@never_cache
@require_POST
def password_set(request: HttpRequest) -> HttpResponse:
    """Give myself a (new) password; other sessions of mine end, this one goes on."""
    form = _password_form(request, request.POST)
    if not form.is_valid():
        return _profile(request, TokenForm(), form, status=422)
    auth.update_session_auth_hash(request, form.save())
    messages.success(request, "The password is set.")
    return redirect("profile")


def _profile(
    request: HttpRequest,
    token_form: TokenForm,
    password_form: SetPasswordForm[User],
    *,
    new_token: str = "",
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    live = [token for token in _user(request).api_tokens.order_by("-created_at") if token.is_live(now)]
    context = {"tokens": live, "token_form": token_form, "password_form": password_form, "new_token": new_token}
    return render(request, "accounts/profile.html", context, status=status)


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
