"""Request bodies under /api/: bounded before they are read, and read strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja.parser import Parser

from gpulayer_site.problems import problem
from workers.refusals import Refused

MAX_BODY = {"/api/agent/v1/": 2 * 1024 * 1024, "/api/": 256 * 1024}
"""Bytes a body may have, by the first matching beginning of the path."""
MAX_DEPTH = 32
MAX_INTEGER = 2**63 - 1


class BodyMiddleware:
    """Refuses a body by its headers alone, before anything reads it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer for what is refused; let everything else through."""
        bound = next((size for start, size in MAX_BODY.items() if request.path_info.startswith(start)), None)
        if bound is None:
            return self.get_response(request)
        return _refusal(request, bound) or self.get_response(request)


class StrictParser(Parser):
    """JSON without what JSON leaves open: duplicate keys, NaN, numbers beyond 64 bits, NUL, broken Unicode, depth."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body's JSON value. Raises Refused (400, 415)."""
        if request.content_type != "application/json":
            raise Refused("unsupported_media_type", "the body must be application/json", status=415)
        try:
            value = json.loads(request.body, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise _malformed(f"the body is not JSON: {error}") from error
        _check(value, depth=0)
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


def _malformed(detail: str) -> Refused:
    return Refused("malformed", detail.encode("ascii", "backslashreplace").decode("ascii")[:300], status=400)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _malformed(f"the key {twice!r} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not a JSON number")


def _check(value: object, *, depth: int) -> None:
    """Raise for anything that one of the databases, or the answer's own JSON, could not carry."""
    if depth > MAX_DEPTH:
        raise _malformed(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            _check_text(value)
        case dict():
            for key, inner in value.items():
                _check_text(key)
                _check(inner, depth=depth + 1)
        case list():
            for inner in value:
                _check(inner, depth=depth + 1)
        case int() if abs(value) > MAX_INTEGER:
            raise _malformed("a whole number is beyond 64 bits")
        case float() if not math.isfinite(value):
            raise _malformed("a number is beyond what can be represented")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise _malformed("text holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _malformed("text holds half of a surrogate pair") from error
