"""A worker's credential, replaced by its successor while the agent goes on."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router

from workers import services
from workers.auth import caller
from workers.wire import Answer, Body, Count, refusals

router = Router(tags=["sessions"])


class RotateIn(Body):
    """The session in which the worker asks."""

    epoch: Count


class RotateOut(Answer):
    """The successor, shown this once. It takes the place of the present one when it is first used."""

    credential: str


@router.post("credential/rotate", response={200: RotateOut, **refusals(409, body=True)}, summary="Rotate")
def rotate(request: HttpRequest, payload: RotateIn) -> Any:
    """Get a successor of the credential that signs this call; the present one works until the successor is used."""
    secret = services.rotate(credential=caller(request), epoch=payload.epoch, now=timezone.now())
    return {"credential": secret}
