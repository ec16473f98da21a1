"""Every error under /api/ as application/problem+json, whoever raised it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from gpulayer_site.arrival import SlowBodyError
from scheduler.core.errors import DocumentError, Problem
from workers.refusals import Refused
from workers.wire import problem_body

CONTENT_TYPE = "application/problem+json"
FOUND_SHOWN = 80
RETRY_AFTER_SECONDS = "2"

CODES = {
    400: "malformed", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    411: "length_required", 413: "too_large", 415: "unsupported_media_type", 422: "invalid",
    429: "too_many_requests", 500: "internal_error", 503: "unavailable",
}  # fmt: skip
"""The code of an error that nothing more particular is known about."""


def problem(
    status: int, detail: str, *, code: str | None = None, problems: Iterable[Problem] = (), **extra: Any
) -> HttpResponse:
    """One error answer. `problems` are all the things that are wrong."""
    body = problem_body(status, detail, code=code or CODES.get(status, "error"), problems=problems, **extra)
    response = HttpResponse(json.dumps(body), status=status, content_type=CONTENT_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def from_exception(exc: BaseException) -> HttpResponse | None:
    """The answer to an error that somebody below raised on purpose; None for one that nobody foresaw."""
    for kind, answer in _ANSWERS:
        if isinstance(exc, kind):
            return answer(exc)
    return None


def install(api: NinjaAPI) -> None:
    """Let this API answer every foreseen exception as a problem."""

    def handle(request: HttpRequest, exc: Any) -> HttpResponse:
        return from_exception(exc) or problem(500, "the server failed; its log has the details")

    for kind, _ in _ANSWERS:
        api.add_exception_handler(kind, handle)


class ProblemMiddleware:
    """Turns whatever plain error page would leave under /api/ (no such path, wrong method, CSRF) into a problem."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let the request through and look at what comes back."""
        response = self.get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or not request.path_info.startswith("/api/"):
            return response
        if response.get("Content-Type", "").startswith(CONTENT_TYPE):
            return response
        return _converted(request, response)


def _converted(request: HttpRequest, response: HttpResponseBase) -> HttpResponse:
    answer = problem(response.status_code, _plain_detail(request, response))
    for header in ("Allow", "Retry-After", "Vary"):
        if header in response.headers:
            answer[header] = response.headers[header]
    return answer


def _plain_detail(request: HttpRequest, response: HttpResponseBase) -> str:
    match response.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"nothing at {request.path_info[:200]!r}"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.method} is not answered here; {response.headers.get('Allow', 'nothing')} is"
        case HTTPStatus.INTERNAL_SERVER_ERROR:
            return "the server failed; its log has the details"
        case _:
            return response.reason_phrase


def _refused(exc: Any) -> HttpResponse:
    return problem(exc.status, exc.detail, code=exc.code, problems=exc.problems, **exc.extra)


def _document(exc: Any) -> HttpResponse:
    return problem(422, _count("document", exc.problems), code="document_invalid", problems=exc.problems)


def _invalid(exc: Any) -> HttpResponse:
    items = [_item(error) for error in exc.errors]
    return problem(422, _count("request", items), problems=items)


def _count(what: str, problems: Sequence[Problem]) -> str:
    count = f"{len(problems)} things are" if len(problems) != 1 else "one thing is"
    return f"the {what} is not accepted: {count} wrong"


def _item(error: dict[str, Any]) -> Problem:
    path = ".".join(str(part) for part in error["loc"] if part not in _NO_PLACE)
    found = "nothing" if error["type"] == "missing" else _shown(error.get("input"))
    return Problem(path or "body", found, _plain(error["msg"]))


def _plain(message: str) -> str:
    """What would be right, without the validator's own way of beginning."""
    for start, plain in (
        ("Value error, ", ""),
        ("Input should be ", ""),
        ("String should match pattern ", "text that matches "),
    ):
        if message.startswith(start):
            return plain + message.removeprefix(start)
    return message


_NO_PLACE = frozenset({"body", "query", "path", "header", "payload", "asked"})


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = ascii(value)
    return text if len(text) <= FOUND_SHOWN else text[: FOUND_SHOWN - 1] + "…"


def _http(exc: Any) -> HttpResponse:
    """Ninja wraps what the body's reader raised; the cause says more than the wrapping."""
    cause = from_exception(exc.__cause__) if exc.__cause__ is not None else None
    return cause or problem(exc.status_code, exc.message)


def _unreadable(exc: Any) -> HttpResponse:
    cause = exc.__cause__
    while isinstance(cause, UnreadablePostError):  # wrapped once for each layer that it went through
        cause = cause.__cause__
    if isinstance(cause, SlowBodyError):
        return problem(503, f"{cause}; try again shortly", code="slow_body")
    return problem(400, "the body could not be read to its end")


_ANSWERS: tuple[tuple[type[Exception], Callable[[Any], HttpResponse]], ...] = (
    (Refused, _refused),
    (DocumentError, _document),
    (ValidationError, _invalid),
    (AuthenticationError, lambda exc: problem(401, "this needs a token that is known, not revoked and not expired")),
    (HttpError, _http),
    (Http404, lambda exc: problem(404, str(exc) or "not found")),
    (RequestDataTooBig, lambda exc: problem(413, "the body is too large")),
    (UnreadablePostError, _unreadable),
    (OperationalError, lambda exc: problem(503, "the database is busy or away; try again shortly")),
    (InterfaceError, lambda exc: problem(503, "the database is busy or away; try again shortly")),
    (IntegrityError, lambda exc: problem(503, "somebody else changed this at the same moment; try again shortly")),
)
