"""Enrolment tokens that still let somebody in."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from workers.models import EnrolmentToken, Event
from workers.refusals import NotFound


def live_tokens(*, now: datetime) -> QuerySet[EnrolmentToken]:
    """Those with uses left that have not expired, newest first, with who made them."""
    return EnrolmentToken.objects.filter(expires_at__gt=now, uses_left__gt=0).select_related("created_by")


@transaction.atomic
def revoke_token(*, token_id: int, actor: str, now: datetime) -> EnrolmentToken:
    """End a token; who came in by it stays. Ending it again changes nothing. Raises NotFound."""
    token = EnrolmentToken.objects.filter(pk=token_id).first()
    if token is None:
        raise NotFound(f"no enrolment token {token_id}", code="no_such_token")
    if live_tokens(now=now).filter(pk=token_id).update(expires_at=now):
        Event.objects.create(
            at=now, actor=actor, subject_kind="token", subject=token.prefix, verb="revoked",
            before=f"{token.uses_left} left",
        )  # fmt: skip
    token.refresh_from_db()
    return token
