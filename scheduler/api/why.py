"""Why: everything behind a kept decision, worded and counted by the rules that made it. Nothing here is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router

from scheduler.api.jobs import found
from scheduler.api.why_documents import (
    ChangesAsked,
    DecisionAsked,
    DifferencesOut,
    RollUpOut,
    WhyAsked,
    WhyNotOut,
    WhyOut,
)
from scheduler.core.codec import decision_to_document
from scheduler.core.codec_worker import instant_text
from scheduler.core.explain import asks_for
from scheduler.core.why import PARTS, part, to_document
from scheduler.models import Decision, Job
from scheduler.offline import LARGE_FLEET
from scheduler.services.changes import difference_between, kept_decision, kept_of
from scheduler.services.recorded import Recorded
from scheduler.services.rollups import latest_roll_up
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.visibility import teller_for, told_to
from scheduler.services.whys import grounds_of, why_not_on
from workers.refusals import NotFound
from workers.wire import refusals

router = Router(tags=["why"])

JobId = Path[str]


@router.get("jobs/{job_id}/why", response={200: WhyOut, **refusals(404)})
def get_why(request: HttpRequest, job_id: JobId, asked: Query[WhyAsked]) -> Any:
    """Everything behind a kept decision, or only some `part`s of it; `group_by` says how the matrix counts.

    `gpu`, `tier`, `torch`, `worker` or `label:KEY`. Some tenths of a second at 10,000 workers.
    """
    job = found(request, job_id).job
    kept = _kept(request, job, asked.decision)
    wanted = frozenset(asked.part or ("decision", *PARTS))
    grounds = grounds_of(kept, job, user=request.user, now=timezone.now(), grouping=asked.group_by)
    grouped = len(kept.fleet.workers) > LARGE_FLEET
    return {
        **_of_job(request, job, kept),
        "asks_for": asks_for(kept.entry.spec),
        "decision": decision_to_document(kept.decision, grouped=grouped) if "decision" in wanted else None,
        "why": {name: to_document(part(name, grounds)) if name in wanted else None for name in PARTS},
    }


@router.get("jobs/{job_id}/why-not/{path:worker}", response={200: WhyNotOut, **refusals(404)})
def get_why_not(request: HttpRequest, job_id: JobId, worker: Path[str], asked: Query[DecisionAsked]) -> Any:
    """Every check of one job on one worker, as its decision saw it, and what would have to give.

    Costs no more at 10,000 workers than at ten, once the decision is at hand.
    """
    job = found(request, job_id).job
    kept = _kept(request, job, asked.decision)
    try:
        answer = why_not_on(kept, job, worker, user=request.user)
    except KeyError as error:
        raise NotFound(
            f"no worker {worker[:100]!r} was known when {job_id} was decided", code="no_such_worker"
        ) from error
    return {**_of_job(request, job, kept), "why_not": to_document(answer)}


@router.get("jobs/{job_id}/differences", response={200: DifferencesOut, **refusals(404)})
def get_differences(request: HttpRequest, job_id: JobId, asked: Query[ChangesAsked]) -> Any:
    """The job's kept decisions, and what changed from one to another: the latest two unless told otherwise.

    Only workers whose verdict or reasons changed are told, with what it came from.
    """
    job = found(request, job_id).job
    rows = kept_of(job)
    if not rows:
        raise _undecided(job)
    tell = teller_for(request.user, map(_lead, rows))
    later = asked.later or rows[0].pk
    earlier = asked.earlier or next((row.pk for row in rows if row.pk < later), None)
    after, before = _kept(request, job, later), _kept(request, job, earlier) if earlier else None
    return {
        **_job(job),
        "decisions": [_row(row, tell) for row in rows],
        "earlier": earlier,
        "later": later,
        "difference": to_document(difference_between(before, after)) if before else None,
    }


@router.get("rollup", response={200: RollUpOut, **refusals(404)})
def get_rollup(request: HttpRequest) -> Any:
    """What keeps the whole queue waiting, and what would let how much of it start: as the latest pass found it.

    Stored with the pass, so that it costs nothing to ask. Where others' jobs are hidden, of one's own and one's
    teams' jobs alone.
    """
    view = latest_roll_up(request.user)
    if view is None:
        raise NotFound("no pass has looked at the queue yet", code="no_pass")
    return {
        "version": 1,
        "pass_number": view.pass_.number,
        "seen_at": instant_text(view.pass_.started_at),
        "rollup": to_document(view.found),
    }


def _kept(request: HttpRequest, job: Job, key: int | None) -> Recorded:
    user = request.user
    kept = recorded_for(user, job) if key is None else kept_decision(user, job, key)
    if kept is None and key is not None:
        raise NotFound(
            f"{job.job_id} has no decision {key}, or no longer: it may have been dropped for newer ones",
            code="no_such_decision",
        )
    if kept is None:
        raise _undecided(job)
    return kept


def _undecided(job: Job) -> NotFound:
    return NotFound(f"no pass has considered {job.job_id} yet", code="no_decision")


def _of_job(request: HttpRequest, job: Job, kept: Recorded) -> dict[str, Any]:
    tell = partial(told_to, request.user)
    return {**_job(job), "kept": _row(kept.row, tell), "intact": kept.intact, "same_rules": kept.same_rules}


def _job(job: Job) -> dict[str, Any]:
    return {"version": 1, "job_id": job.job_id, "name": job.name, "state": job.state}


def _row(row: Decision, tell: Callable[[str], str]) -> dict[str, Any]:
    return {
        "id": row.pk,
        "pass_number": row.pass_row.number,
        "made_at": instant_text(row.made_at),
        "seen_at": instant_text(row.seen_at),
        "outcome": row.outcome,
        "kept": row.kept,
        "refreshed": row.refreshed,
        "lead": tell(_lead(row)),
    }


def _lead(row: Decision) -> str:
    return str(row.summary["answer"]["lead"])
