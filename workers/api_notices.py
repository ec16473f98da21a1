"""Notices over HTTP: everybody reads them, operators put them up and take them down."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router, Status
from pydantic import Field

from workers import services
from workers.api import actor_of
from workers.models import Notice
from workers.services.notices import LONGEST, current
from workers.wire import Answer, Body, Id, Instant, Line, refusals

router = Router(tags=["operators"])


class NoticeIn(Body):
    """What to tell everybody, on every page, until `ends_at` or until somebody takes it down."""

    text: Annotated[Line, Field(min_length=1, max_length=LONGEST)]
    level: Literal["info", "warning"] = "info"
    ends_at: Instant | None = None


class NoticeOut(Answer):
    """One notice. `ended_at`: when somebody took it down."""

    id: int
    text: str
    level: str
    created_at: datetime
    created_by: str | None
    ends_at: datetime | None
    ended_at: datetime | None


class NoticesOut(Answer):
    """Those that are shown now, warnings first."""

    items: list[NoticeOut]


@router.get("notices", response={200: NoticesOut, **refusals()})
def list_notices(request: HttpRequest) -> Any:
    """The notices that stand on every page now."""
    return {"items": [_notice(row) for row in current(timezone.now())]}


@router.post("notices", response={201: NoticeOut, **refusals(403, 409, body=True)})
def post_notice(request: HttpRequest, payload: NoticeIn) -> Any:
    """Put up a notice. Operators may."""
    notice = services.post_notice(
        **payload.model_dump(), actor=actor_of(request), now=timezone.now(), created_by=request.user
    )  # fmt: skip
    return Status(201, _notice(notice))


@router.post("notices/{notice_id}/end", response={200: NoticeOut, **refusals(403, 404, body=True)})
def end_notice(request: HttpRequest, notice_id: Path[Id]) -> Any:
    """Take a notice down; again it changes nothing. Operators may."""
    return _notice(services.end_notice(notice_id=notice_id, actor=actor_of(request), now=timezone.now()))


def _notice(row: Notice) -> dict[str, Any]:
    fields = ("id", "text", "level", "created_at", "ends_at", "ended_at")
    made_by = row.created_by.get_username() if row.created_by else None
    return {**{name: getattr(row, name) for name in fields}, "created_by": made_by}
