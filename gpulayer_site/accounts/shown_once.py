"""Secrets that are shown once, on the page after the one that made them: loading that page again makes no other."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest

from scheduler.services.sealing import seal_draft, unseal_draft

_KEY = "shown_once"


def keep(request: HttpRequest, *, what: str, secret: str) -> None:
    """Put the secret aside for the next page, encrypted: the table of sessions never has it in the clear."""
    assert isinstance(request.user, User)
    request.session[_KEY] = seal_draft({what: secret}, owner_id=request.user.pk)


def take(request: HttpRequest, what: str) -> str:
    """The secret that was put aside for this; from now on it is nowhere. Empty where there is none."""
    assert isinstance(request.user, User)
    if _KEY not in request.session:
        return ""
    return unseal_draft(request.session.pop(_KEY), owner_id=request.user.pk).get(what, "")
