"""Says for every call where it came from, and writes down what it was refused, once it is over."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from gpulayer_site.accounts.address import client_address
from gpulayer_site.audit.refused import refusal_of
from workers.caller import calling, came_by
from workers.services.trail import write_refusals


class CallerMiddleware:
    """Outside of everything that could refuse: what is rolled back inside is written down all the same."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let the request through, with its address known to whatever writes an event meanwhile."""
        address = client_address(request)
        with calling(address) as refusals:
            if settings.SESSION_COOKIE_NAME in request.COOKIES:
                came_by("session")  # a token that lets somebody in says so itself
            response = self.get_response(request)
            if not refusals and (refusal := refusal_of(request, response, address)):
                refusals.append(refusal)
        if refusals:
            write_refusals(refusals)
        return response
