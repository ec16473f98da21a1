"""Who is calling as a worker: enrolment tokens and worker credentials, made, hashed and recognised here."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from ninja.security import HttpBearer

from workers.caller import came_by
from workers.models import Credential, EnrolmentToken, Event
from workers.refusals import Unauthorized

ENROLMENT_PREFIX = "gle_"
CREDENTIAL_PREFIX = "glw_"
ENROLMENT_LIFE = timedelta(minutes=60)
LAST_USE_STEP = timedelta(minutes=1)
"""How exact a credential's last use is: a write for each call would take the database's write lock each time."""
SHOWN = 10
"""Characters of a token that are kept, to recognise it by."""


def new_secret(prefix: str) -> str:
    """256 random bits behind a recognisable prefix."""
    return prefix + secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """What is stored of a secret: SHA-256 suffices for 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@transaction.atomic
def create_enrolment_token(
    *, uses: int, origin: str, simulated: bool, note: str, created_by: User | None, now: datetime
) -> tuple[str, EnrolmentToken]:
    """A token that lets `uses` workers enrol within the hour; the secret is returned once. `origin` "" fits any."""
    secret = new_secret(ENROLMENT_PREFIX)
    row = EnrolmentToken.objects.create(
        hash=hashed(secret),
        prefix=secret[:SHOWN],
        note=note,
        origin=origin,
        simulated=simulated,
        uses_left=uses,
        expires_at=now + ENROLMENT_LIFE,
        created_at=now,
        created_by=created_by,
    )
    Event.objects.create(
        at=now, actor=f"user:{created_by.get_username()}" if created_by else "server", subject_kind="token",
        subject=row.prefix, verb="created", after=f"{uses} use{'s' if uses > 1 else ''}", cause=note,
    )  # fmt: skip
    return secret, row


def create_credential(*, fleet: bool, now: datetime) -> tuple[str, Credential]:
    """A credential for one worker, or for a fleet of simulated ones; the secret is returned once."""
    secret, digest = new_credential_secret()
    row = Credential.objects.create(hash=digest, prefix=secret[:SHOWN], fleet=fleet, created_at=now)
    return secret, row


def new_credential_secret() -> tuple[str, str]:
    """A secret for a credential, and what is stored of it."""
    secret = new_secret(CREDENTIAL_PREFIX)
    return secret, hashed(secret)


def credential_of(secret: str, *, now: datetime) -> Credential | None:
    """The credential with this secret, its use noted; None for an unknown one.

    The first use of a successor puts it in the old one's place. Raises Unauthorized for a revoked one.
    """
    digest = hashed(secret)
    found = Credential.objects.filter(hash=digest).first()
    # Asked for both: of several first uses at once another one may have put it in place meanwhile.
    found = found or Credential.objects.filter(Q(hash=digest) | Q(next_hash=digest)).first()
    if found is None:
        return None
    if found.revoked_at is not None:
        raise _revoked()
    if found.hash != digest:
        return _succeeded(found, digest, now)
    if found.last_used_at is None or now - found.last_used_at >= LAST_USE_STEP:
        Credential.objects.filter(pk=found.pk).update(last_used_at=now)
    return found


def is_known_credential(secret: str) -> bool:
    """Whether a worker of this server may call with it; nothing is noted."""
    digest = hashed(secret)
    return Credential.objects.filter(Q(hash=digest) | Q(next_hash=digest), revoked_at=None).exists()


def check_live(credential: Credential) -> None:
    """Raise Unauthorized where the credential was revoked since it was let in."""
    if not Credential.objects.filter(pk=credential.pk, revoked_at=None).exists():
        raise _revoked()


def _revoked() -> Unauthorized:
    return Unauthorized("credential_revoked", "this worker's credential was revoked; enrol it again")


def _succeeded(found: Credential, digest: str, now: datetime) -> Credential | None:
    """Of several first uses at once one does it; None where another successor was asked for at this moment."""
    new = {"hash": digest, "prefix": found.next_prefix, "rotated_at": now, "last_used_at": now}
    gone = {"next_hash": None, "next_prefix": "", "rotation_asked_at": None}
    with transaction.atomic():
        if Credential.objects.filter(pk=found.pk, next_hash=digest).update(**new, **gone):
            _note_succession(found, now)
    found.refresh_from_db()
    return found if found.hash == digest else None


def _note_succession(found: Credential, now: datetime) -> None:
    Event.objects.bulk_create(
        Event(
            at=now, actor=f"worker:{name}", subject_kind="worker", subject=name, verb="credential",
            before=found.prefix, after=found.next_prefix, cause="its successor is used from now on",
        )
        for name in found.workers.values_list("name", flat=True)
    )  # fmt: skip


class EnrolmentBearer(HttpBearer):
    """`Authorization: Bearer gle_…`: may enrol workers, and nothing else."""

    def authenticate(self, request: HttpRequest, token: str) -> Any | None:
        """The token's row; None for an unknown one. Raises Unauthorized for one that is expired or used up."""
        found = EnrolmentToken.objects.filter(hash=hashed(token.strip())).first()
        if found is None:
            return None
        if found.expires_at <= timezone.now():
            raise Unauthorized("token_expired", "this enrolment token has expired; make another one")
        if found.uses_left < 1:
            raise Unauthorized("token_used_up", "this enrolment token has been used; make another one")
        came_by(f"token {found.prefix}")
        return found


class CredentialBearer(HttpBearer):
    """`Authorization: Bearer glw_…`: speaks for the worker or the simulated fleet that enrolled with it."""

    def authenticate(self, request: HttpRequest, token: str) -> Any | None:
        """The credential's row; None for an unknown one. Raises Unauthorized for one that was revoked."""
        found = credential_of(token.strip(), now=timezone.now())
        came_by("worker")
        return found


def caller(request: HttpRequest) -> Credential:
    """The credential that a call was let in with."""
    return cast("Credential", request.auth)  # type: ignore[attr-defined]


def token_of(request: HttpRequest) -> EnrolmentToken:
    """The enrolment token that a call was let in with."""
    return cast("EnrolmentToken", request.auth)  # type: ignore[attr-defined]
