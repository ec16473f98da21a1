"""What lists, submissions and logs of the people's API are asked with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from workers.wire import Count, Id, Line

MOST_ROWS = 200

State = Literal[
    "queued", "paused", "assigned", "running", "cancelling", "succeeded", "failed", "cancelled", "timed_out",
    "active", "over",
]  # fmt: skip


class JobsAsked(BaseModel):
    """Which jobs are listed."""

    state: State | None = None
    q: Line = ""
    owner: Line = ""
    team: Line = ""
    after: Annotated[str, StringConstraints(pattern=r"^j-[0-9]{1,18}$")] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50


class SubmissionAsked(BaseModel):
    """To which team a job is given."""

    team: Annotated[Line, Field(max_length=150)] | None = None


class LogAsked(BaseModel):
    """Which part of a log, and how."""

    offset: Count = 0
    format: Literal["text", "json", "frames"] = "text"
    stream: Literal["both", "stdout", "stderr"] = "both"
    attempt: Id | None = None
    rank: Count = 0
    download: bool = False


class WorkersAsked(BaseModel):
    """Which workers are listed."""

    q: Line = ""
    after: Line = ""
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50
