"""What both HTTP interfaces share: strict bodies, bounded values and the shape of an error."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from scheduler.core.errors import Problem
from scheduler.core.reading import NOT_SEEN, is_printable
from workers.refusals import Refused

MAX_ID = 2**63 - 1
MAX_NAME = 253

Id = Annotated[int, Field(ge=1, le=MAX_ID)]
"""A row's number."""
Count = Annotated[int, Field(ge=0, le=MAX_ID)]
"""A size, a counter or a fence."""
Millis = Annotated[int, Field(ge=0, le=MAX_ID)]
ExitCode = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""One line of text without control characters."""
WorkerName = Annotated[str, StringConstraints(max_length=MAX_NAME, pattern=r"^\w[\w.:+@-]*$")]
"""What a new worker may be called: it stands in addresses, so no slashes and spaces."""
Reported = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""What a host says of itself; nothing it says may keep it from being heard, but for control characters."""
Prose = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]


def _seen(text: str) -> str:
    if not is_printable(text):
        raise ValueError(NOT_SEEN)
    return text


Line = Annotated[Reported, AfterValidator(_seen)]
"""What people write: one line of characters that are seen and don't turn the text around."""


def _instant(value: object) -> datetime:
    """Text as an instant; what has no offset of its own is nowhere in time."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        if at is not None and at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(INSTANT)


INSTANT = "an instant with its offset, such as 2026-11-30T18:00:00Z"
Instant = Annotated[datetime, BeforeValidator(_instant)]
"""ISO 8601 with an offset; in UTC from here on."""


class Body(BaseModel):
    """A request body: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Answer(BaseModel):
    """A response body."""

    model_config = ConfigDict(from_attributes=True)


class ProblemItem(BaseModel):
    """One thing that is wrong: where, what was found, what would be right."""

    path: str
    found: str
    expected: str


class ProblemOut(BaseModel):
    """RFC 9457 problem details. `code` is stable and meant for programs."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    problems: list[ProblemItem] | None = None
    size: int | None = None


def problem_body(
    status: int, detail: str, *, code: str, problems: Iterable[Problem] = (), **extra: Any
) -> dict[str, Any]:
    """The members of one error answer. `problems` are all the things that are wrong; they are left out if none."""
    items = [{"path": item.path, "found": item.found, "expected": item.expected} for item in problems]
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **({"problems": items} if items else {}),
        **extra,
    }


def body_text(body: bytes) -> str:
    """A body as text; raises Refused where it is no UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Refused("malformed", f"byte {error.start} of the body is no UTF-8", status=400) from error


ALWAYS = (400, 401, 422, 503)
WITH_BODY = (411, 413, 415)


def refusals(*statuses: int, body: bool = False) -> dict[int, Any]:
    """The error answers of an operation, for its documentation; those that any may give are always there."""
    return dict.fromkeys(sorted({*ALWAYS, *(WITH_BODY if body else ()), *statuses}), ProblemOut)
