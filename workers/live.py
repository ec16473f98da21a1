"""Fragments that keep themselves up to date: one address, a page for people and a piece for htmx."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString, mark_safe

MARK = "ptag-goes-here"
"""Stands in the fragment's own `hx-ptag` until what it is the digest of is known."""


def live_fragment(request: HttpRequest, template: str, context: dict[str, Any]) -> tuple[SafeString, str]:
    """The fragment, and the tag that stays the same as long as not one character of it changes."""
    body = render_to_string(template, {"ptag": MARK, **context}, request)
    tag = hashlib.sha256(body.encode()).hexdigest()[:16]
    return mark_safe(body.replace(MARK, tag)), tag  # noqa: S308 - rendered by a template, which escaped it


def respond(request: HttpRequest, *, page: str, fragment: str, context: dict[str, Any]) -> HttpResponse:
    """The fragment for htmx, with 304 while it is what the caller has; for everybody else the page around it.

    The page template gets the fragment as `live`.
    """
    live, tag = live_fragment(request, fragment, context)
    if not is_fragment(request):
        response = render(request, page, {**context, "live": live})
    elif request.headers.get("HX-PTag") == tag:
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(live)
    return tagged(response, tag)


def tagged(response: HttpResponse, tag: str) -> HttpResponse:
    """The answer with its tag, kept by nobody for others."""
    response.headers["HX-PTag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ("HX-Request", "HX-PTag"))
    return response


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a piece."""
    return request.headers.get("HX-Request") == "true"
