"""What is asked about why, and the whole answers: of which job and decision, and what is said of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from scheduler.api.why_wire import Instant, RelaxationOut, WhyPartsOut
from workers.wire import Answer, Id

Part = Literal[
    "decision", "answer", "funnel", "order", "relaxations", "gang", "matrix", "blockers", "passed_over",
]  # fmt: skip
Grouping = Annotated[
    str, StringConstraints(pattern=r"^(gpu|tier|torch|worker|label:[^\x00-\x1f\x7f]{1,253})$", max_length=259)
]


class DecisionAsked(BaseModel):
    """Which of a job's kept decisions; the latest unless told otherwise."""

    decision: Id | None = None


class WhyAsked(DecisionAsked):
    """Which answers, all of them unless told otherwise; and how the matrix counts."""

    part: list[Part] = Field(default=[], max_length=9)
    group_by: Grouping = "gpu"


class ChangesAsked(BaseModel):
    """Between which two kept decisions; the latest, and the one before it, unless told otherwise."""

    earlier: Id | None = None
    later: Id | None = None


class KeptOut(Answer):
    """A kept decision: when it was first made so, and last brought up to date. `kept`: first, outcome or change.

    `refreshed`: its pass is a later one, which changed figures only.
    """

    id: int
    pass_number: int
    made_at: Instant
    seen_at: Instant
    outcome: str
    kept: str
    refreshed: bool
    lead: str


class OfJobOut(Answer):
    """Of which job and which of its kept decisions something is said."""

    version: int
    job_id: str
    name: str
    state: str
    kept: KeptOut
    intact: bool
    same_rules: bool


class WhyOut(OfJobOut):
    """A kept decision and everything behind it. `decision` has candidates in groups where the fleet is large."""

    asks_for: str
    decision: dict[str, Any] | None
    why: WhyPartsOut


class CheckLineOut(Answer):
    """One check of one worker: passed, failed or not asked, with both sides in words."""

    code: str
    label: str
    field: str
    required: str
    actual: str
    status: str
    unknown: bool
    why_not_asked: str
    sentences: list[str]


class RemedyOut(Answer):
    """What can be done on the worker about a failed check."""

    code: str
    text: str


class WhyNotValuesOut(Answer):
    """One job against one worker, every check in its order."""

    worker: str
    verdict: str
    lead: str
    checks: list[CheckLineOut]
    passed: int
    failed: int
    not_asked: int
    on_the_worker: list[RemedyOut]
    in_the_job: list[RelaxationOut]


class WhyNotOut(OfJobOut):
    """Why not there."""

    why_not: WhyNotValuesOut


class StepOut(Answer):
    """A stage of the funnel of which the number changed."""

    key: str
    label: str
    before: int
    after: int


class ChangedOut(Answer):
    """A candidate whose verdict or codes changed; a verdict is null where the fleet did not have the worker."""

    worker: str
    before: str | None
    after: str | None
    codes_before: list[str]
    codes_after: list[str]
    headline: str
    causes: list[str]


class DifferenceValuesOut(Answer):
    """What changed from one decision to the other."""

    outcome_before: str
    outcome_after: str
    places_before: list[str]
    places_after: list[str]
    steps: list[StepOut]
    changed: list[ChangedOut]


class DifferencesOut(Answer):
    """The job's kept decisions, newest first, and what changed between two of them; null where only one is kept."""

    version: int
    job_id: str
    name: str
    state: str
    decisions: list[KeptOut]
    earlier: int | None
    later: int
    difference: DifferenceValuesOut | None


class CauseOut(Answer):
    """The jobs that one set of reasons keeps from starting, and what is answered of the oldest."""

    outcome: str
    codes: list[str]
    jobs: int
    oldest: str
    oldest_since: str | float | None
    example: str


class LeverOut(Answer):
    """One thing that would let jobs start: a running job ends, workers get a label, or one more like one there."""

    kind: str
    subject: str
    starts: int
    jobs: list[str]
    workers: list[str]


class RollUpValuesOut(Answer):
    """How many jobs start, wait or never fit; what keeps them waiting; what would let most of them start."""

    placed: int
    waiting: int
    never: int
    causes: list[CauseOut]
    levers: list[LeverOut]
    asked: int


class RollUpOut(Answer):
    """The queue as the latest pass left it."""

    version: int
    pass_number: int
    seen_at: Instant
    rollup: RollUpValuesOut
