"""The trail over HTTP: events by who, what and when, and whether they are as they were sealed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from gpulayer_site.audit.asked import LONGEST, Question, read_question
from gpulayer_site.audit.rows import document
from scheduler.core.errors import DocumentError, Problem
from workers.roles import is_administrator
from workers.services.trail_check import Checked, check_trail
from workers.services.trail_search import find
from workers.wire import MAX_ID, Answer, refusals

router = Router(tags=["audit"])

Text = Annotated[str, Field(max_length=LONGEST)]
Anchors = Annotated[str, Field(max_length=2000, pattern=r"^(\d{1,18}:[0-9a-f]{64}(,|$))*$")]
AT_ONCE = 50_000
"""Events that one call checks."""


class EventsAsked(BaseModel):
    """What is looked for; every part is optional. `before`: the id that an earlier answer gave as `older`."""

    who: Text = ""
    what: Text = ""
    verb: Text = ""
    q: Text = ""
    since: Text = ""
    until: Text = ""
    refused: bool = False
    before: Annotated[int | None, Field(ge=1, le=MAX_ID)] = None


class EventOut(Answer):
    """One act: who did what to what, from where, before and after."""

    id: int
    at: datetime
    actor: str
    address: str
    via: str
    subject_kind: str
    subject: str
    verb: str
    before: str
    after: str
    cause: str
    detail: dict[str, Any]


class EventsOut(Answer):
    """The newest first. `older`: ask again with it as `before`. `back_to`: how far back this answer looked."""

    items: list[EventOut]
    older: int | None
    back_to: datetime | None


class CheckAsked(BaseModel):
    """Where to go on, and digests that were kept elsewhere, each as `LAST:DIGEST`, with commas between them."""

    after: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    anchor: Anchors = ""


class FindingOut(Answer):
    """Something that is not as it was sealed."""

    what: str
    event: int | None
    text: str


class CheckOut(Answer):
    """What was looked at. `complete` false: go on with `upto` as `after`."""

    seals: int
    events: int
    upto: int
    digest: str
    complete: bool
    findings: list[FindingOut]


@router.get("audit", response={200: EventsOut, **refusals(403)})
def list_events(request: HttpRequest, asked: Query[EventsAsked]) -> Any:
    """Events, the newest first. Operators see what is done with the fleet, administrators everything."""
    question = _question(asked)
    found = find(question.asked, everything=is_administrator(request.user), before=question.before)
    return {"items": [document(event) for event in found.events], "older": found.older, "back_to": found.back_to}


@router.get("audit/verify", response={200: CheckOut, **refusals(403)})
def verify(request: HttpRequest, asked: Query[CheckAsked]) -> Checked:
    """Whether events are as they were sealed; one that was changed, removed or put in is named. Some at a time."""
    given = (each.partition(":") for each in asked.anchor.split(",") if each)
    anchors = {int(last): digest for last, _, digest in given}
    return check_trail(after=asked.after, most=AT_ONCE, anchors=anchors)


def _question(asked: EventsAsked) -> Question:
    given = {name: str(value) for name, value in asked.model_dump().items() if value not in (None, "", False)}
    question = read_question(given)
    if question.problems:
        raise DocumentError([Problem(each.path, each.found, each.expected) for each in question.problems])
    return question
