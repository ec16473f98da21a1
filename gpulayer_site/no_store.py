"""Nothing that this server makes is kept by a browser or a proxy: what one person sees is no other's to find."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control


class NoStoreMiddleware:
    """Says so on every answer but static files, which are the same for everybody and answered before this."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, to be kept by nobody."""
        response = self.get_response(request)
        patch_cache_control(response, private=True, no_store=True)
        return response
