"""Who is calling, and tokens to call with."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Status
from pydantic import Field

from gpulayer_site.accounts.tokens import create_token
from workers.wire import Answer, Body, Line, refusals

router = Router(tags=["account"])


class TokenIn(Body):
    """Where the token will live, to recognise it by."""

    note: Annotated[Line, Field(max_length=100)] = ""


class TokenOut(Answer):
    """The token, shown this once."""

    token: str


class WhoOut(Answer):
    """The caller. `operator`: may do what only operators may."""

    username: str
    operator: bool


@router.post("tokens", response={201: TokenOut, **refusals(403, body=True)}, summary="Create Token")
def create_api_token(request: HttpRequest, payload: TokenIn) -> Any:
    """Make another token for the caller."""
    _, secret = create_token(user=cast("User", request.user), note=payload.note, now=timezone.now())
    return Status(201, {"token": secret})


@router.get("whoami", response={200: WhoOut, **refusals()})
def whoami(request: HttpRequest) -> Any:
    """Who is calling."""
    return {"username": request.user.get_username(), "operator": bool(request.user.is_staff)}
