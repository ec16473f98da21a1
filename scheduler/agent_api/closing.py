"""What a worker may still say after its credential was revoked: how its tasks ended, and that they are gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from scheduler.models import Task
from workers.auth import CredentialBearer, hashed
from workers.models import Credential
from workers.refusals import Unauthorized


class ClosingBearer(CredentialBearer):
    """A credential, also a revoked one, as long as a task of it is not released and its time is not over.

    Its agent ends everything when it hears that it was revoked. What held devices must be able to say that it does
    not any more: nobody else knows.
    """

    def authenticate(self, request: HttpRequest, token: str) -> Any | None:
        """The credential's row; None for an unknown one. Raises Unauthorized for one that has nothing left to say."""
        try:
            return super().authenticate(request, token)
        except Unauthorized as refusal:
            row = _closing(token)
            if row is None:
                raise refusal
            return row


def _closing(token: str) -> Credential | None:
    since = timezone.now() - timedelta(seconds=settings.GPULAYER_LEASE_SECONDS)
    secret = hashed(token.strip())
    row = Credential.objects.filter(Q(hash=secret) | Q(next_hash=secret), revoked_at__gt=since).first()
    if row is None or not Task.objects.filter(worker__credential=row, released_at=None).exists():
        return None
    return row
