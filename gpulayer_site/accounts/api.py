"""Who is calling, and tokens to call with."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router, Status
from pydantic import Field

from gpulayer_site.accounts import tokens
from gpulayer_site.accounts.models import ApiToken
from gpulayer_site.accounts.people import find_person
from workers.refusals import Refused
from workers.roles import Role, Scope, is_administrator, is_operator, role_of
from workers.wire import Answer, Body, Id, Line, refusals

router = Router(tags=["account"])

RoleName = Literal["viewer", "submitter", "operator", "administrator"]
ScopeName = Literal["read", "jobs", "fleet", "people"]
MOST_DAYS = 3650


class TokenIn(Body):
    """Where the token will live, to recognise it by; what it may, and for how long.

    `role`: at most the caller's, which it is when left out. `scopes`: empty for everything. Without
    `expires_in_days` it has no end.
    """

    note: Annotated[Line, Field(max_length=100)] = ""
    role: RoleName | None = None
    scopes: Annotated[list[ScopeName], Field(max_length=len(Scope))] = []
    expires_in_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = None


class TokenAbout(Answer):
    """A token as far as it can be shown."""

    id: int
    prefix: str
    note: str
    role: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    last_used_from: str


class TokenOut(TokenAbout):
    """The token itself, shown this once."""

    token: str


class TokensOut(Answer):
    """The newest first."""

    items: list[TokenAbout]


class WhoOut(Answer):
    """The caller. `role`: as it counts for this call; `operator`: may do what only operators may."""

    username: str
    role: str
    operator: bool
    scopes: list[str]
    teams: list[str]


Whose = Annotated[str | None, Query(max_length=150, description="somebody else's; administrators may ask")]


@router.post("tokens", response={201: TokenOut, **refusals(403, 409, body=True)}, summary="Create Token")
def create_api_token(request: HttpRequest, payload: TokenIn) -> Any:
    """Make another token for the caller: with the caller's role and scopes, or less."""
    now = timezone.now()
    token, secret = tokens.make_token(
        caller=cast("User", request.user), note=payload.note, now=now,
        role=Role(payload.role) if payload.role else None,
        scopes=[Scope(scope) for scope in payload.scopes],
        expires_at=now + timedelta(days=payload.expires_in_days) if payload.expires_in_days else None,
    )  # fmt: skip
    return Status(201, {**TokenAbout.model_validate(token).model_dump(), "token": secret})


@router.get("tokens", response={200: TokensOut, **refusals(403, 404)})
def list_api_tokens(request: HttpRequest, user: Whose = None) -> Any:
    """The caller's tokens that are neither revoked nor expired."""
    owner = cast("User", request.user)
    if user is not None and user != owner.get_username():
        if not is_administrator(request.user):
            raise Refused("administrators_only", "only administrators see others' tokens", status=403)
        owner = find_person(user)
    return {"items": list(tokens.live_tokens(owner, now=timezone.now()))}


@router.delete("tokens/{token_id}", response={200: TokenAbout, **refusals(403, 404)})
def revoke_api_token(request: HttpRequest, token_id: Annotated[Id, Path()]) -> Any:
    """End a token: one's own, or for administrators anybody's. Doing it again changes nothing."""
    everybody = is_administrator(request.user)
    token = tokens.token_by_id(token_id, owner=None if everybody else cast("User", request.user))
    tokens.revoke_token(token=token, now=timezone.now(), actor=f"user:{request.user.get_username()}")
    return token


@router.get("whoami", response={200: WhoOut, **refusals()})
def whoami(request: HttpRequest) -> Any:
    """Who is calling."""
    user = cast("User", request.user)
    token: ApiToken | None = getattr(user, "api_token", None)
    return {
        "username": user.get_username(),
        "role": role_of(user),
        "operator": is_operator(user),
        "scopes": token.scopes if token else list(Scope),
        "teams": sorted(user.groups.values_list("name", flat=True)),
    }
