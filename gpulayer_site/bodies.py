"""Request bodies under /api/: bounded before they are read, and read strictly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.parser import Parser

from gpulayer_site.problems import problem
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.reading import can_be_stored, quoted, show
from scheduler.json_text import read_json
from workers.refusals import Refused
from workers.wire import MAX_ID, body_text

MAX_BODY = {
    "/api/agent/v1/": 2 * 1024 * 1024, "/api/v1/bundles/": 1024 * 1024, "/api/": 256 * 1024, "/jobs/new": 0,
    "/": 4 * 1024 * 1024,
}  # fmt: skip
"""Bytes a body may have, by the first matching beginning of the path; 0 is a form that may bring files."""
_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")
"""Nothing reads a body of these."""


class BodyMiddleware:
    """Refuses a body by its headers alone, before anything reads it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer for what is refused; let everything else through."""
        if request.method in _WITHOUT_BODY:
            return self.get_response(request)
        bound = next(size for start, size in MAX_BODY.items() if request.path_info.startswith(start))
        return _refusal(request, bound or _form_with_files()) or self.get_response(request)


def _form_with_files() -> int:
    """What a form may have that brings files along."""
    return int(settings.GPULAYER_FILES_LIMIT_BYTES) + MAX_BODY["/"]


class StrictParser(Parser):
    """JSON without what JSON leaves open: duplicate keys, NaN, numbers beyond 64 bits, NUL, broken Unicode, depth."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body's JSON value. Raises Refused (400, 415), DocumentError."""
        if request.content_type != "application/json":
            raise Refused("unsupported_media_type", "the body must be application/json", status=415)
        value = read_json(body_text(request.body))
        _check_storable(value)
        return value


def _refusal(request: HttpRequest, bound: int) -> HttpResponseBase | None:
    if request.headers.get("Content-Encoding", "identity") != "identity":
        return problem(415, "compressed bodies are not read; send it as it is")
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length:
        chunked = "Transfer-Encoding" in request.headers
        return problem(411, "a body needs a Content-Length") if chunked else None
    if not (length.isascii() and length.isdigit()):
        return problem(400, "Content-Length must be a whole number")
    if len(length) > len(str(bound)) or int(length) > bound:
        return problem(413, f"the body may have {bound} bytes, this one says {length[:20]}")
    return None


def _check_storable(value: object) -> None:
    """Raise for what one of the databases, or the answer's own JSON, could not carry."""
    match value:
        case str() if not can_be_stored(value):
            raise DocumentError([Problem("", quoted(value), "text without NUL and without halves of characters")])
        case dict():
            for key, inner in value.items():
                _check_storable(key)
                _check_storable(inner)
        case list():
            for inner in value:
                _check_storable(inner)
        case int() if abs(value) > MAX_ID:
            raise DocumentError([Problem("", show(value), "whole numbers of at most 64 bits")])
