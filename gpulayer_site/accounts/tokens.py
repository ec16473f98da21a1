"""API tokens: what a person's scripts and command line come in with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from gpulayer_site.accounts.models import ApiToken, every_scope
from gpulayer_site.accounts.people import invalid
from workers.auth import hashed, new_secret
from workers.models import Event
from workers.refusals import NotFound, Refused
from workers.roles import Role, Scope, role_of

USER_TOKEN_PREFIX = "glu_"
MOST_LIVE = 200
"""Tokens that one person can have at a time."""
# How exact `last_used_at` is: a write for each request would take the database's write lock each time.
_LAST_USE_STEP = timedelta(minutes=1)
_SHOWN_CHARACTERS = len(USER_TOKEN_PREFIX) + 4


@transaction.atomic
def create_token(
    *,
    user: User,
    note: str,
    now: datetime,
    expires_at: datetime | None = None,
    role: Role = Role.ADMINISTRATOR,
    scopes: Sequence[Scope] = tuple(Scope),
) -> tuple[ApiToken, str]:
    """Make a token for `user`. The second value is the secret: this is the only time that it is known."""
    secret = new_secret(USER_TOKEN_PREFIX)
    token = ApiToken.objects.create(
        user=user, hash=hashed(secret), prefix=secret[:_SHOWN_CHARACTERS], note=note, created_at=now,
        expires_at=expires_at, role=role, scopes=[scope for scope in every_scope() if scope in scopes],
    )  # fmt: skip
    _write(token, "created", f"user:{user.get_username()}", now)
    return token, secret


def make_token(
    *,
    caller: User,
    note: str,
    now: datetime,
    role: Role | None = None,
    scopes: Sequence[Scope] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token for whoever calls: of their role, for everything and without an end where they do not say less.

    A token that was come in with hands on no more than it has itself: neither role nor scopes nor time. Raises Refused.
    """
    own, cap = role_of(caller) or Role.VIEWER, getattr(caller, "api_token", None)
    allowed = [Scope(each) for each in cap.scopes] if cap else list(Scope)
    wanted = list(scopes) or allowed
    if role is not None and not own.reaches(role):
        raise invalid("role", role, f"at most {own}, which is what you may do here")
    if beyond := [scope for scope in wanted if scope not in allowed]:
        raise invalid("scopes", ", ".join(beyond), f"some of {', '.join(allowed)}, which this token has itself")
    if expires_at is not None and expires_at <= now:
        raise invalid("expires_at", expires_at.isoformat(), "an instant to come")
    if cap is not None and cap.expires_at is not None:
        expires_at = min(expires_at or cap.expires_at, cap.expires_at)
    if live_tokens(caller, now=now).count() >= MOST_LIVE:
        raise Refused("too_many_tokens", f"you have {MOST_LIVE} tokens: revoke some that are no longer used")
    return create_token(user=caller, note=note, now=now, role=role or own, scopes=wanted, expires_at=expires_at)


def live_tokens(user: User, *, now: datetime) -> QuerySet[ApiToken]:
    """The tokens that open the door, newest first."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
    return ApiToken.objects.filter(unexpired, user=user, revoked_at=None).order_by("-created_at", "-pk")


def user_of_token(*, secret: str, now: datetime, address: str = "") -> User | None:
    """Whose token this is; None when it is unknown, revoked, expired, or its owner may not sign in.

    The user carries what the token may: `token_role`, `token_scopes` (see `workers.roles`) and itself as `api_token`.
    """
    if not secret.startswith(USER_TOKEN_PREFIX):
        return None
    token = ApiToken.objects.select_related("user__person").filter(hash=hashed(secret)).first()
    if token is None or not token.is_live(now) or not token.user.is_active:
        return None
    if token.last_used_at is None or now - token.last_used_at >= _LAST_USE_STEP:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now, last_used_from=address[:45])
    user: Any = token.user
    user.token_role, user.token_scopes, user.api_token = Role(token.role), frozenset(token.scopes), token
    return token.user


def revoke_token(*, token: ApiToken, now: datetime, actor: str = "") -> bool:
    """End a token; False when it had been ended already. `actor`: its owner, where nothing is said."""
    with transaction.atomic():
        ended = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now) == 1
        if ended:
            _write(token, "revoked", actor or f"user:{token.user.get_username()}", now)
    return ended


def token_by_id(token_id: int, *, owner: User | None) -> ApiToken:
    """The token of this number, if it is the owner's; None: anybody's. Raises NotFound."""
    tokens = ApiToken.objects.select_related("user").filter(pk=token_id)
    found = (tokens if owner is None else tokens.filter(user=owner)).first()
    if found is None:
        raise NotFound(f"there is no token {token_id}")
    return found


def _write(token: ApiToken, verb: str, actor: str, now: datetime) -> None:
    expires = token.expires_at.isoformat() if token.expires_at else None
    Event.objects.create(
        at=now, actor=actor, subject_kind="token", subject=token.prefix, verb=verb, after=token.role,
        detail={"owner": token.user.get_username(), "scopes": token.scopes, "expires_at": expires, "note": token.note},
    )  # fmt: skip
