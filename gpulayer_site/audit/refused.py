"""What an answer refused, and to whom."""

from __future__ import annotations

import json
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from gpulayer_site.audit.presented import presented
from gpulayer_site.problems import CONTENT_TYPE
from workers.caller import Refusal, way_now

REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
ANONYMOUS = "anonymous"
_NAMED_BY = ("job_id", "name", "worker", "reservation_id", "pk", "token_id", "task_id")
"""Parts of an address that say what it is about, the most telling first."""
_LONGEST_PATH = 250


def refusal_of(request: HttpRequest, response: HttpResponseBase, address: str) -> Refusal | None:
    """What to write down of this answer; None where nothing was refused."""
    if response.status_code not in REFUSALS:
        return None
    code, cause = _said(response)
    shown = presented(request)
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        actor, via, reason = f"user:{user.get_username()}", shown.via or way_now(), code
    else:
        actor, via, reason = shown.actor or ANONYMOUS, shown.via, shown.reason or code
    detail = {"method": request.method, "path": request.path_info[:_LONGEST_PATH], "status": response.status_code}
    return Refusal(
        at=timezone.now(), actor=actor, subject=_subject(request), reason=reason, cause=cause, detail=detail,
        address=address, via=via,
    )  # fmt: skip


def _said(response: HttpResponseBase) -> tuple[str, str]:
    """The code and the sentence of a problem; of a page there is only the status."""
    if isinstance(response, HttpResponse) and response.get("Content-Type", "").startswith(CONTENT_TYPE):
        body = json.loads(response.content)
        return str(body.get("code", "")), str(body.get("detail", ""))
    return HTTPStatus(response.status_code).name.lower(), response.reason_phrase


def _subject(request: HttpRequest) -> str:
    """What was asked for, by its own name where the address has one."""
    match = request.resolver_match
    named = match.kwargs if match else {}
    found = next((str(named[part]) for part in _NAMED_BY if part in named), "")
    return (found or request.path_info)[:_LONGEST_PATH]
