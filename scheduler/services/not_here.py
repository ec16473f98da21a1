"""Why waiting jobs are not on one worker: its own checks, asked as at each job's turn in the pass that decided it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.core.labels import code_tone
from scheduler.core.reasons import Reason
from scheduler.core.sentences import sentence
from scheduler.core.why_not import COULD_TAKE_IT
from scheduler.core.words import Clock
from scheduler.models import PassState, SchedulingPass
from scheduler.queue import take_queue
from scheduler.services.ledger import seen_by
from scheduler.services.one_worker import Told, Turn, Views, turns
from scheduler.services.visibility import seen_ids

MOST_CAUSES = 8
MOST_NAMED = 3
MOST_PASSES = 3


_LAST = Turn(0, sys.maxsize, frozenset())
"""Of a job that is not decided yet."""


@dataclass(slots=True)
class Cause:
    """Waiting jobs that the same sentence keeps off; of several reasons, the first that was found."""

    tone: str
    text: str
    jobs: int = 0
    first: tuple[str, ...] = ()
    """The ids of the first of them in the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHere:
    """The waiting jobs that somebody sees, by what keeps them off one worker; the commonest first."""

    waiting: int
    causes: tuple[Cause, ...]
    more: int
    """Jobs that further sentences keep off."""
    pass_number: int
    """The latest, by which all of it stands."""


def not_here(worker: str, *, user: Any, clock: Clock) -> NotHere | None:
    """None where the latest pass saw no such worker. A fixed number of queries; what they cost grows with the queue."""
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None or worker not in seen_by(row):
        return None
    queue, decided = take_queue(), turns()
    passes = _passes(row, decided.values())
    views = {pk: Views(each, worker) for pk, each in passes.items() if worker in seen_by(each)}
    seen = seen_ids(user, {queued.job_id for queued in queue}.union(*(each.jobs for each in views.values())))
    found, told = dict[tuple[str, str], Cause](), Told()
    for queued in queue:
        if queued.entry is None or queued.job_id not in seen:
            continue
        turn = decided.get(queued.pk, _LAST)
        of, position = (views[turn.pass_pk], turn.position) if turn.pass_pk in views else (views[row.pk], sys.maxsize)
        tone, text = _said(told.of(queued.entry, of.at(position, seen), turn.closed), clock)
        cause = found.setdefault((tone, text), Cause(tone, text))
        cause.jobs += 1
        cause.first = (*cause.first, queued.job_id)[:MOST_NAMED]
    causes = sorted(found.values(), key=lambda cause: -cause.jobs)
    return NotHere(
        waiting=sum(cause.jobs for cause in causes),
        causes=tuple(causes[:MOST_CAUSES]),
        more=sum(cause.jobs for cause in causes[MOST_CAUSES:]),
        pass_number=row.number,
    )


def _passes(row: SchedulingPass, turns: Iterable[Turn]) -> Mapping[int, SchedulingPass]:
    """The latest few of the passes that decided the waiting jobs, and the latest of all. One query.

    Of jobs that none of these decided, the figures have not changed for long: they are told by the latest.
    """
    latest = sorted({turn.pass_pk for turn in turns} - {row.pk})[-MOST_PASSES:]
    return {row.pk: row, **SchedulingPass.objects.in_bulk(latest)}


def _said(reasons: tuple[Reason, ...], clock: Clock) -> tuple[str, str]:
    if not reasons:
        return "ok", COULD_TAKE_IT
    return code_tone(reasons[0].code), sentence(reasons[0], clock=clock)
