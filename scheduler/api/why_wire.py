"""The answers to why, field by field, as the core words and counts them (docs/why.md).

Codes, verdicts and outcomes are those of docs/reasons.md; instants are ISO 8601 in UTC, spans seconds, sizes bytes.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from scheduler.api.wire import AnswerOut, StageOut
from workers.wire import Answer

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Key = str | int | None


class ChangeOut(Answer):
    """One requirement with another value, both in words."""

    field: str
    label: str
    before: str
    after: str


class RelaxationOut(Answer):
    """A job that asks for less, and what that is good for. `spec` is the whole edited document, ready to submit."""

    changes: list[ChangeOut]
    spec: dict[str, Any]
    gained: int
    gained_free: int
    free: int
    fits: bool
    starts: bool
    examples: list[str]
    message: str


class RelaxationsOut(Answer):
    """Single changes that help and, where none is enough, the smallest sets that are."""

    alone: list[RelaxationOut]
    together: list[RelaxationOut]
    searched: bool
    complete: bool


class RankedOut(Answer):
    """One worker's place in the policy's order."""

    place: int
    worker: str
    tier: str
    selected: bool
    key: list[Key]
    free_memory: int | None
    why: str


class OrderOut(Answer):
    """Why this worker and not the next, and whom the other policy would have taken."""

    policy: str
    order: list[RankedOut]
    eligible: int
    other_policy: str
    other_choice: list[str]


class TorchChangeOut(Answer):
    """The workers, each with its torch now, on which another torch would complete a gang."""

    workers: list[tuple[str, str | None]]
    starts: bool


class GangVersionOut(Answer):
    """The workers of one target and one torch version."""

    tier: str
    torch: str | None
    needed: int
    compatible: int
    free: int
    free_workers: list[str]
    change: TorchChangeOut | None


class CellOut(Answer):
    """What came of one check on some workers; the four sum up to all of them."""

    passed: int
    failed: int
    unknown: int
    not_asked: int


class CheckRowOut(Answer):
    """One check: of everybody, and by column; and on how many workers it alone stands in the way."""

    code: str
    subject: str | None
    label: str
    total: CellOut
    cells: list[CellOut]
    only_blocker: int


class MatrixOut(Answer):
    """Every check by group of workers. `columns` are pairs of a name and a number of workers."""

    grouping: str
    columns: list[tuple[str, int]]
    rows: list[CheckRowOut]
    fit: list[int]
    free: list[int]


class ObstacleOut(Answer):
    """One thing in the way. `until`: when it ends at the latest, where that is known."""

    code: str
    text: str
    holders: list[str]
    devices: list[int]
    until: Instant | None


class BlockedOut(Answer):
    """A worker that can run the job and is not free."""

    worker: str
    obstacles: list[ObstacleOut]
    free_at: Instant | None


class BlockersOut(Answer):
    """What is in the way of the workers that can run it; the earliest known time at which it could start."""

    workers: list[BlockedOut]
    total: int
    earliest: Instant | None
    at: list[str]
    ending: list[str]
    complete: bool


class OvertakingOut(Answer):
    """A later job, and what it took of the workers that fit this one, as pairs of a worker and its devices."""

    job_id: str
    name: str
    placed_at: Instant
    places: list[tuple[str, list[int]]]


class PassedOverOut(Answer):
    """Who went ahead, the latest first, and which earlier jobs wait for the same workers; `waited` is in seconds."""

    later: list[OvertakingOut]
    earlier: list[str]
    waited: float
    reserve: bool


class WhyPartsOut(Answer):
    """The answers, each as the core words it; null where it was not asked for."""

    answer: AnswerOut | None
    funnel: list[StageOut] | None
    order: OrderOut | None
    relaxations: RelaxationsOut | None
    gang: list[GangVersionOut] | None
    matrix: MatrixOut | None
    blockers: BlockersOut | None
    passed_over: PassedOverOut | None
