"""Why not there: one job against one worker, every check with what was required, what there is and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.actual_words import actual
from scheduler.core.checklist import CHECKED, Status, why_not_asked
from scheduler.core.decision import Candidate, Verdict
from scheduler.core.fleet import WorkerView
from scheduler.core.handbook import HANDBOOK
from scheduler.core.labels import check_label
from scheduler.core.reasons import Code, Reason
from scheduler.core.relax import relaxations
from scheduler.core.relaxed import Relaxation
from scheduler.core.requirement_words import field_of, required
from scheduler.core.scene import Scene
from scheduler.core.sentences import sentence
from scheduler.core.spec import QueueEntry
from scheduler.core.words import Clock, agrees, counted, in_utc

COULD_TAKE_IT = "could take it now; the policy prefers another, or the job cannot start complete"
"""Of a worker that passed every check and was not chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One check of one worker."""

    code: Code
    label: str
    field: str
    """Its place in the job's document; empty where it has none."""
    required: str
    actual: str
    status: Status
    unknown: bool
    """Failed only because the worker does not say."""
    why_not_asked: str
    sentences: tuple[str, ...]
    """Of a failed check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What would have to give."""

    code: Code
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """The whole answer."""

    worker: str
    verdict: Verdict
    lead: str
    checks: tuple[CheckLine, ...]
    passed: int
    failed: int
    not_asked: int
    on_the_worker: tuple[Remedy, ...]
    """For each failed check, what can be done about it."""
    in_the_job: tuple[Relaxation, ...]
    """Edits of the job with which this worker could run it."""


def why_not(
    entry: QueueEntry, worker: WorkerView, candidate: Candidate, *, clock: Clock = in_utc, edits: bool = True
) -> WhyNot:
    """Everything about this pair; `candidate` is the worker's part in the job's decision."""
    lines = tuple(_line(code, entry, worker, candidate.reasons, clock) for code in CHECKED)
    tally = {status: sum(line.status is status for line in lines) for status in Status}
    never = candidate.verdict is Verdict.INCOMPATIBLE
    return WhyNot(
        worker=worker.id,
        verdict=candidate.verdict,
        lead=_lead(worker.id, candidate.verdict, tally),
        checks=lines,
        passed=tally[Status.PASSED],
        failed=tally[Status.FAILED],
        not_asked=tally[Status.NOT_ASKED],
        on_the_worker=tuple(_remedy(line.code) for line in lines if line.status is Status.FAILED),
        in_the_job=_edits(entry, worker) if edits and never else (),
    )


def _line(code: Code, entry: QueueEntry, worker: WorkerView, reasons: tuple[Reason, ...], clock: Clock) -> CheckLine:
    failed = frozenset(reason.code for reason in reasons)
    mine = [reason for reason in reasons if reason.code is code]
    not_asked = "" if mine else why_not_asked(code, entry, failed) or ""
    status = Status.FAILED if mine else Status.NOT_ASKED if not_asked else Status.PASSED
    return CheckLine(
        code=code,
        label=check_label(code),
        field=mine[0].field if mine else field_of(code),
        required=required(code, entry.spec),
        actual="" if not_asked else actual(code, entry, worker, clock=clock),
        status=status,
        unknown=bool(mine) and all(reason.unknown for reason in mine),
        why_not_asked=not_asked,
        sentences=tuple(sentence(reason, clock=clock) for reason in mine),
    )


def _lead(worker: str, verdict: Verdict, tally: dict[Status, int]) -> str:
    asked, failed = tally[Status.PASSED] + tally[Status.FAILED], tally[Status.FAILED]
    of = f"{failed:,} of {counted(asked, 'check')} that {agrees(asked, 'was', 'were')} asked failed"
    return {
        Verdict.SELECTED: f"{worker} was chosen: it passed every check, and comes first in the policy's order.",
        Verdict.ELIGIBLE: f"{worker} {COULD_TAKE_IT}.",
        Verdict.UNAVAILABLE: f"{worker} can run it, not now: {of}.",
        Verdict.INCOMPATIBLE: f"{worker} can never run it, as both stand: {of}.",
    }[verdict]


def _remedy(code: Code) -> Remedy:
    return Remedy(code=code, text=HANDBOOK[code].remedy)


def _edits(entry: QueueEntry, worker: WorkerView) -> tuple[Relaxation, ...]:
    """What the job could ask instead, if this were the only worker."""
    found = relaxations(Scene(entry, (worker,)))
    fitting = tuple(one for one in found.alone if one.gained)
    return fitting or tuple(one for one in found.together if one.gained)
