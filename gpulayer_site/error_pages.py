"""Pages for what went wrong: nothing there, or a page that failed, with the reference under which the log has it."""

from __future__ import annotations

import secrets
import sys
from http import HTTPStatus
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader
from django.utils import timezone

from gpulayer_site.references import REFERENCE
from scheduler.services.finding import nearest_ids
from workers.refusals import NotFound

RETRY_AFTER_SECONDS = "5"

_AWAY = (OperationalError, InterfaceError)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404. Of a job it does not say whether it is not there or somebody else's: both get the same page."""
    match = request.resolver_match
    job_id = str(match.kwargs.get("job_id", "")) if match and _is_about_the_job(exception) else ""
    context: dict[str, Any] = {"said": _said(exception) if match and not job_id else ""}
    if job_id:
        context |= {"job_id": job_id[:40], "nearest": nearest_ids(request.user, job_id)}
    return render(request, "404.html", context, status=HTTPStatus.NOT_FOUND)


def failed(request: HttpRequest) -> HttpResponse:
    """500, or 503 where the database does not answer: then nothing is asked of it, not even who is looking."""
    reference = f"{secrets.token_hex(2)}-{secrets.token_hex(2)}"
    setattr(request, REFERENCE, reference)
    context = {"reference": reference, "at": timezone.now(), "request": request}
    if isinstance(sys.exc_info()[1], _AWAY):
        response = _bare("503.html", context, HTTPStatus.SERVICE_UNAVAILABLE)
        response["Retry-After"] = RETRY_AFTER_SECONDS
        return response
    try:
        return render(request, "500.html", context, status=HTTPStatus.INTERNAL_SERVER_ERROR)
    except Exception:
        return _bare("500.html", context, HTTPStatus.INTERNAL_SERVER_ERROR)


def _bare(template: str, context: dict[str, Any], status: int) -> HttpResponse:
    return HttpResponse(loader.get_template(template).render(context), status=status)


def _is_about_the_job(exception: Exception) -> bool:
    cause = exception.__cause__
    return isinstance(cause, NotFound) and cause.code == "no_such_job"


def _said(exception: Exception) -> str:
    """What a page of ours says of it; Django's own words are about its tables and addresses."""
    words = exception.args[0] if isinstance(exception, Http404) and exception.args else ""
    return words if isinstance(words, str) and not words.endswith("matches the given query.") else ""
