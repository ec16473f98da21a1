"""What the people's API is asked about reservations and what it answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from scheduler.api.wire_asked import MOST_ROWS
from workers.wire import Answer, Body, Id, Instant, Line, ProblemOut

Index = Annotated[int, Field(ge=0, lt=4096)]
Indices = Annotated[list[Index], Field(max_length=4096)]
Note = Annotated[Line, Field(max_length=200)]
Others = Annotated[list[Id], Field(max_length=100)]


class ReservationsAsked(BaseModel):
    """Which reservations are listed."""

    state: Literal["live", "active", "planned", "over", "all"] = "live"
    kind: Literal["job", "user", "team"] | None = None
    worker: Line = ""
    q: Line = ""
    after: Id | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50


class ReservationIn(Body):
    """What is kept for whom. No `starts_at`: from now on. No `ends_at`: without an end. No `devices`: all of it."""

    worker: Line
    holder: Line
    devices: Indices = []
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    note: Note = ""
    end_first: Others = []
    """Reservations of the same worker that are ended for this one."""


class ReservationChange(Body):
    """What is to be different; what is not said stays. `ends_at` null: without an end."""

    ends_at: Instant | None = None
    note: Note | None = None
    end_first: Others = []


class InTheWayOut(Answer):
    """A task that runs on and is waited for. `until` is by its limit; null: it has none."""

    job_id: str
    devices: list[int]
    until: datetime | None


class ReservationOut(Answer):
    """One reservation. `phase` is active, waits (for the tasks in `waits_for`), planned or over."""

    id: int
    worker: str
    devices: list[int]
    """Empty: the whole worker."""
    holder: str
    phase: str
    starts_at: datetime
    ends_at: datetime | None
    ended_at: datetime | None
    """When it was ended before its time, and `ended_cause` why."""
    ended_cause: str
    job_is_over: bool
    waits_for: list[InTheWayOut]
    note: str
    created_at: datetime
    created_by: str | None
    url: str


class ReservationsOut(Answer):
    """The newest first. `next` is what to ask for as `after`; null at the end."""

    items: list[ReservationOut]
    next: int | None


class FixOut(Answer):
    """A change after which it would be possible: `changes` are the fields to send instead."""

    kind: str
    text: str
    changes: dict[str, Any]


class OverlapOut(ProblemOut):
    """Others keep the same at the same time: `conflicts` are they, `fixes` the two nearest ways out."""

    conflicts: list[ReservationOut] | None = None
    fixes: list[FixOut] | None = None
