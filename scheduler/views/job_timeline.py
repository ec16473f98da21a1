"""How the decision about a job changed: newest first, each with what set it off, and a chart of how near it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from scheduler.core.history_words import confirmed_words, first_words, near_words, steps_words, trigger_words
from scheduler.core.spec import FallbackWhen
from scheduler.core.words import counted
from scheduler.core.words import devices as devices_words
from scheduler.models import AttemptState, Job
from scheduler.models.decisions import Outcome
from scheduler.services.changes import difference_between, kept_decision
from scheduler.services.timeline import Decided, Ran, decided, ran, turns
from scheduler.views.job_frame import frame_of
from scheduler.views.job_pages import job_page
from scheduler.views.step_chart import StepChart, step_chart
from workers.live import is_fragment
from workers.moments import duration, now
from workers.paging import asked_of

MOST_SHOWN = 50
MOST_EXPLAINED = 3
"""Of so many changes the page fetches by itself what set them off."""

_LOOKS = {
    Outcome.PLACED: ("ok", "circle-check", "placed"),
    Outcome.WAITING: ("wait", "clock", "waiting"),
    Outcome.UNSCHEDULABLE: ("never", "ban", "never fits"),
}
_ENDS = {
    AttemptState.SUCCEEDED: ("ok", "circle-check"),
    AttemptState.CANCELLED: ("none", "player-stop"),
    AttemptState.REVOKED: ("none", "player-stop"),
    AttemptState.TIMED_OUT: ("never", "hourglass"),
    AttemptState.LOST: ("never", "help-circle"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: when, how it looks, what it says, and what goes with it. `key` names a decision."""

    at: datetime
    tone: str
    icon: str
    text: str
    delta: tuple[str, ...] = ()
    key: int | None = None
    by: str = ""
    has_before: bool = False
    explained: bool = False


def timeline_context(user: Any, job: Job, *, before: int | None = None) -> dict[str, Any]:
    """What `_timeline.html` shows: the newest lines, or those before a decision."""
    kept = decided(user, job)
    shown = [one for one in kept if before is None or one.key < before]
    lines = sorted(_lines(job, shown[:MOST_SHOWN], whole=before is None), key=lambda one: one.at, reverse=True)
    more = shown[MOST_SHOWN:]
    return {
        "job": job,
        "history": lines,
        "history_words": _counted(job, kept),
        "history_earlier": shown[MOST_SHOWN - 1].key if more else None,
        "history_compared": len(kept) > 1,
        "history_chart": _chart(job, kept),
    }


def timeline(request: HttpRequest, job_id: str) -> HttpResponse:
    """The lines before a decision, as a page of their own; `of` asks for what set one of them off."""
    frame = frame_of(request.user, job_id)
    asked = asked_of(request.GET, ("before", "of"))
    if is_fragment(request) and (key := _number(asked.get("of", ""))):
        return render(request, "scheduler/_trigger.html", {"trigger": _trigger(request.user, frame.job, key)})
    context = timeline_context(request.user, frame.job, before=_number(asked.get("before", "")))
    return job_page(request, frame, "scheduler/job_timeline.html", {"tab": "placement", **context})


def _lines(job: Job, kept: list[Decided], *, whole: bool) -> Iterator[Entry]:
    explained = [one.key for one in kept if one.before][:MOST_EXPLAINED]
    for one in kept:
        tone, icon, _ = _LOOKS[Outcome(one.outcome)]
        yield Entry(
            one.at, tone, icon, one.lead, _delta(one), one.key, f"Pass {one.first_pass:,}" if one.first_pass else "",
            has_before=one.before is not None, explained=one.key in explained,
        )  # fmt: skip
    if whole:
        tries = ran(job)
        for each in tries:
            yield from _of_attempt(each)
        if job.finished_at and not any(each.attempt.ended_at for each in tries):
            yield Entry(job.finished_at, "none", "player-stop", f"{job.get_state_display()} before it started")
    if not kept or kept[-1].before is None:
        yield Entry(job.submitted_at, "none", "plus", f"Submitted by {job.owner.get_username()}: {_targets(job)}")


def _delta(one: Decided) -> tuple[str, ...]:
    near = near_words(one.near["free"], one.near["needed"], one.near["unit"]) if one.near else ""
    steps = steps_words(one.before.steps, one.steps) if one.before else first_words(one.steps)
    return tuple(filter(None, (steps, near, confirmed_words(one.confirmed))))


def _of_attempt(each: Ran) -> Iterator[Entry]:
    attempt, several = each.attempt, len(each.tasks) > 1
    first = f"Attempt {attempt.number}" if attempt.number > 1 else "Tasks" if several else "Task"
    if each.started_at:
        yield Entry(each.started_at, "run", "player-play", f"{first} started on {_places(each)}")
    if attempt.ended_at:
        tone, icon = _ENDS.get(AttemptState(attempt.state), ("never", "circle-x"))
        yield Entry(attempt.ended_at, tone, icon, f"{first} {_ended(each)}", tuple(_ran_for(each)))


def _places(each: Ran) -> str:
    if len(each.tasks) > 1:
        return f"{counted(len(each.tasks), 'worker')}, rank 0 on {each.tasks[0].worker.name}"
    task = each.tasks[0]
    return f"{task.worker.name}, {devices_words(tuple(task.devices))}" if task.devices else task.worker.name


def _ended(each: Ran) -> str:
    codes = {task.exit_code for task in each.tasks if task.exit_code is not None}
    with_code = f" with exit code {codes.pop()}" if len(codes) == 1 else ""
    return f"{each.attempt.get_state_display()}{with_code}"


def _ran_for(each: Ran) -> Iterator[str]:
    if each.started_at and each.attempt.ended_at:
        yield f"ran {duration((each.attempt.ended_at - each.started_at).total_seconds())}"


def _targets(job: Job) -> str:
    first, rest = job.spec.get("target") or "local", job.spec.get("fallback_targets") or []
    if not rest:
        return f"target {first}, no fallback"
    when = job.spec.get("fallback_when") or FallbackWhen.UNAVAILABLE
    return f"target {first}, fallback {', '.join(rest)} when {when}"


def _counted(job: Job, kept: tuple[Decided, ...]) -> str:
    """How many passes looked at it in how long, where that is known."""
    waited = duration(((job.started_at or job.finished_at or now()) - job.submitted_at).total_seconds(), coarse=True)
    first, last = (kept[-1].first_pass, kept[0].first_pass) if kept else (None, None)
    if first is None or last is None:
        return "only changes are kept"
    return f"{counted(last + kept[0].confirmed - first + 1, 'pass', 'passes')} in {waited}; only changes are kept"


def _chart(job: Job, kept: tuple[Decided, ...]) -> StepChart | None:
    """While it waits, or waited."""
    return step_chart(turns(kept), until=job.started_at or job.finished_at or now()) if len(kept) > 1 else None


def _trigger(user: Any, job: Job, key: int) -> str:
    after = kept_decision(user, job, key)
    earlier = job.decisions.filter(pk__lt=key).order_by("-pk").values_list("pk", flat=True).first() if after else None
    before = kept_decision(user, job, earlier) if earlier else None
    return trigger_words(difference_between(before, after)) if before and after else ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
