"""For every request of somebody signed in: is the session over, is a password due, and in which zone are times?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils import timezone

from gpulayer_site.accounts import sessions
from gpulayer_site.accounts.models import Person
from gpulayer_site.accounts.zones import zone_of
from gpulayer_site.problems import problem

_WITHOUT_A_PASSWORD = frozenset({"password-set", "signin", "signout"})


class PeopleMiddleware:
    """Ends sessions that are over, before anything is done for them, and shows times as the person reads them.

    Stands behind Django's own authentication. What comes with a token, or from an agent, has no session and passes.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let the request through, as nobody's if its session is over."""
        person = _signed_in(request) if settings.SESSION_COOKIE_NAME in request.COOKIES else None
        if request.path_info.startswith("/api/"):
            return self.get_response(request)
        with timezone.override(zone_of(person, request)):
            return _whole_page(request, self.get_response(request))

    def process_view(self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any) -> HttpResponse | None:
        """Who came in with a temporary password chooses another before anything else."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not isinstance(request.user, User):
            return None
        match = request.resolver_match
        due = person_of(request.user).must_change_password
        if not due or (match is not None and match.view_name in _WITHOUT_A_PASSWORD):
            return None
        if request.path_info.startswith("/api/"):
            return problem(403, "choose a password of your own first, in the browser", code="password_due")
        return redirect("password-set")


def person_of(user: User) -> Person:
    """The person; made for a user who came about without one."""
    person: Person | None = getattr(user, "person", None)
    return person or Person.objects.get_or_create(user=user)[0]


def _whole_page(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The answer; a piece of a page that would be the sign-in form becomes the word to load the whole page again."""
    leads_out = str(response.headers.get("Location", "")).startswith(resolve_url(settings.LOGIN_URL))
    if not (leads_out and request.headers.get("HX-Request") == "true"):
        return response
    return HttpResponse(status=204, headers={"HX-Refresh": "true"})


def _signed_in(request: HttpRequest) -> Person | None:
    """The person of a session that goes on; one that is over is ended."""
    if not isinstance(request.user, User):
        return None
    person, now = person_of(request.user), timezone.now()
    if sessions.is_over(request, person, now=now):
        auth.logout(request)
        return None
    # Pages look again by themselves: that somebody left one open is no sign of life.
    if request.method != "GET" or request.headers.get("HX-Request") != "true":
        sessions.touch(request, now=now)
    return person
