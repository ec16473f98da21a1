"""Holds every page to its row of the table before its view is called; calls of the APIs are held to theirs later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from gpulayer_site.access.rows import Row, Who
from gpulayer_site.access.rules import NOT_LISTED, check_person
from gpulayer_site.access.table import CALLS, PAGES
from gpulayer_site.problems import problem
from workers.refusals import Refused


class AccessMiddleware:
    """Refuses what the table does not allow, and what it does not list."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let the request through: what matters is asked once its address is resolved."""
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase | None:
        """None where the view may be called; else the answer. Raises PermissionDenied."""
        match = request.resolver_match
        route = match.route if match else ""
        rows = PAGES.of(route)
        if rows is not None:
            return _page(request, rows)
        if CALLS.of(route) is not None:
            return None
        if route.startswith("api/"):
            return problem(403, NOT_LISTED, code="not_listed")
        raise PermissionDenied(NOT_LISTED)


def _page(request: HttpRequest, rows: Mapping[str, Row]) -> HttpResponseBase | None:
    row = rows.get(request.method or "")
    if row is not None and row.who is Who.ANYONE:
        return None
    if not request.user.is_authenticated and all(each.who is not Who.ANYONE for each in rows.values()):
        return redirect_to_login(request.get_full_path())
    if row is None:
        return HttpResponseNotAllowed(rows)
    try:
        check_person(row, request.user)
    except Refused as refusal:
        raise PermissionDenied(refusal.detail) from refusal
    return None
