"""Sign-ins, sign-outs and what failed at the door, as events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest
from django.utils import timezone

from gpulayer_site.accounts.lockout import CODES
from workers.models import Event
from workers.services.trail import note_refusal

NOBODY = "(no such name)"
"""Stands for a name that nobody has: people type passwords into the field of names."""


def listen() -> None:
    """Hear of everything that happens at the door."""
    user_logged_in.connect(_signed_in, dispatch_uid="audit.signed_in")
    user_logged_out.connect(_signed_out, dispatch_uid="audit.signed_out")
    user_login_failed.connect(_failed, dispatch_uid="audit.failed")


def _signed_in(request: HttpRequest | None, user: User, **_: Any) -> None:
    _note(request, user, "signed_in")


def _signed_out(request: HttpRequest | None, user: User | None, **_: Any) -> None:
    if user is not None:
        _note(request, user, "signed_out")


def _note(request: HttpRequest | None, user: User, verb: str) -> None:
    """Only of calls that came in: scripts and tests sign in without any."""
    if request is None or request.resolver_match is None:
        return
    name = user.get_username()
    Event.objects.create(at=timezone.now(), actor=f"user:{name}", subject_kind="user", subject=name, verb=verb)


def _failed(credentials: Mapping[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Whoever tries while the door is locked is not heard at all: the trail tells that apart from a wrong word."""
    if request is None or request.resolver_match is None:
        return
    name = str(credentials.get("username") or "")
    reason = "wrong_code" if name in ("", CODES) else "wrong_password"
    if getattr(request, "axes_locked_out", False):
        reason = "locked_out"
    known = bool(name) and User.objects.filter(username=name[:150]).exists()
    subject = f"user:{name if known else NOBODY}"
    note_refusal(actor="anonymous", subject=subject, reason=reason, now=timezone.now(), cause="sign-in")
