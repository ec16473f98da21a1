"""A token in an address is refused, whatever it could open: addresses stand in histories, logs and Referer headers."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote_plus

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from gpulayer_site.problems import problem

_TOKEN = re.compile(r"gl[ewu]_[A-Za-z0-9_-]{20}")
_NAMES = re.compile(r"(?:^|&)(?:access_token|api_?key|token|authorization|bearer)=[^&]", re.IGNORECASE)
SAYS = (
    "a token goes into the Authorization header, never into an address; one that stood in an address is to be revoked"
)


class TokenInAddressMiddleware:
    """Answers 400 before anything else looks at such a request; the address is repeated nowhere."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let requests without a token in their address through."""
        query = request.META.get("QUERY_STRING", "")
        if not (_TOKEN.search(unquote_plus(query)) or _TOKEN.search(request.path_info) or _NAMES.search(query)):
            return self.get_response(request)
        if request.path_info.startswith("/api/"):
            return problem(400, SAYS, code="token_in_address")
        raise SuspiciousOperation(SAYS)
