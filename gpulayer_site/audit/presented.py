"""The token that a refused call came with: whose it is, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts.models import ApiToken
from workers.auth import hashed
from workers.models import Credential, EnrolmentToken

_BEARER = re.compile(r"Bearer +(gl[uew]_)([A-Za-z0-9_-]{4,200})\s*", re.IGNORECASE)
_SHOWN = 4
"""Characters behind a token's kind that are kept to recognise it by."""


@dataclass(frozen=True, slots=True)
class Presented:
    """Who stands behind a token, empty where nobody does; the door; why it is worth nothing, where that is known."""

    actor: str = ""
    via: str = ""
    reason: str = ""


def presented(request: HttpRequest) -> Presented:
    """What the Authorization header says. Only known kinds of tokens are looked at: it might hold a password."""
    match = _BEARER.fullmatch(request.headers.get("Authorization", ""))
    if match is None:
        return Presented()
    kind, rest = match[1].lower(), match[2]
    look = {"glu_": _persons, "glw_": _workers, "gle_": _enrolment}[kind]
    return look(hashed(kind + rest), f"token {kind}{rest[:_SHOWN]}", timezone.now())


def _persons(digest: str, via: str, now: datetime) -> Presented:
    token = ApiToken.objects.select_related("user").filter(hash=digest).first()
    if token is None:
        return Presented(via=via, reason="token_unknown")
    reason = ""
    if token.revoked_at is not None:
        reason = "token_revoked"
    elif not token.is_live(now):
        reason = "token_expired"
    elif not token.user.is_active:
        reason = "owner_disabled"
    return Presented(f"user:{token.user.get_username()}", via, reason)


def _workers(digest: str, via: str, now: datetime) -> Presented:
    del now
    credential = Credential.objects.filter(hash=digest).first()
    if credential is None:
        return Presented(via=via, reason="credential_unknown")
    worker = credential.workers.order_by("-pk").values_list("name", flat=True).first()
    reason = "credential_revoked" if credential.revoked_at is not None else ""
    return Presented(f"worker:{worker}" if worker else "", via, reason)


def _enrolment(digest: str, via: str, now: datetime) -> Presented:
    token = EnrolmentToken.objects.filter(hash=digest).first()
    if token is None:
        return Presented(via=via, reason="token_unknown")
    expired = token.expires_at <= now
    return Presented(f"enrolment:{token.prefix}", via, "token_expired" if expired else "token_used_up")
