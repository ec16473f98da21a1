"""Fragments that keep themselves up to date: one address, a page for people and a piece for htmx."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString, mark_safe

MARK = "ptag-goes-here"
"""Stands in the fragment's own `hx-ptag` until what it is the digest of is known."""


GOOD_FOR, READ_AGAIN = 30.0, 5.0
"""Seconds for which an unchanged piece is taken to stay so while no event tells otherwise; with readings of devices."""
Still = Callable[[], bool]
"""Whether something of which no event tells is as it was."""


def live_fragment(
    request: HttpRequest, template: str, context: dict[str, Any], *, beside: str = ""
) -> tuple[SafeString, str]:
    """The fragment, and the tag that stays the same while not one character of it, and of `beside`, changes."""
    body = render_to_string(template, {"ptag": MARK, **context}, request)
    tag = hashlib.sha256((body + beside).encode()).hexdigest()[:16]
    return mark_safe(body.replace(MARK, tag)), tag  # noqa: S308 - rendered by a template, which escaped it


def respond(
    request: HttpRequest, *, page: str, fragment: str, context: dict[str, Any], aside: str | None = None,
    good_for: float = 0.0, still: Still | None = None, alone: bool = False,
) -> HttpResponse:  # fmt: skip
    """The fragment for htmx, with 304 while it is what the caller has; for everybody else the page around it.

    The page template gets the fragment as `live`. `aside` is another element that changes along with it, at a place
    of its own: the page gets it as `aside`, htmx beside the fragment with `oob` set. `good_for` and
    what follows it: see `tagged`.
    """
    standing = render_to_string(aside, context, request) if aside else ""
    live, tag = live_fragment(request, fragment, context, beside=standing)
    if not is_fragment(request):
        response = render(request, page, {**context, "live": live, "aside": standing})
    elif request.headers.get("HX-PTag") == tag:
        response = HttpResponse(status=304)
    else:
        moving = render_to_string(aside, {**context, "oob": True}, request) if aside else ""
        response = HttpResponse(live + moving)
    return tagged(response, tag, good_for=good_for, still=still, alone=alone)


def tagged(
    response: HttpResponse, tag: str, *, good_for: float = 0.0, still: Still | None = None, alone: bool = False
) -> HttpResponse:
    """The answer with its tag, kept by nobody for others.

    So many seconds, and as long as it is `still` so, a 304 is given again without asking, unless something happens;
    `alone`: whatever happens.
    """
    response.good_for, response.still, response.alone = good_for, still, alone  # type: ignore[attr-defined]
    response.headers["HX-PTag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ("HX-Request", "HX-PTag"))
    return response


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a piece."""
    return request.headers.get("HX-Request") == "true"
