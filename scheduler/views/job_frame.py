"""What every page about one job shows above its tabs: state, facts and the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404

from scheduler.core import explain
from scheduler.core.answers import capital
from scheduler.core.decision import TierStatus
from scheduler.core.explain import Answer
from scheduler.core.words import attempt_words
from scheduler.models import Job, JobState, SchedulingPass, Task
from scheduler.queries import WITH_ALL
from scheduler.services import holds
from scheduler.services.pausing import UNTIL_RESUMED, paused_words
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.strays import strays_of
from scheduler.services.visibility import clones_of, find, may_see
from scheduler.views.act_table import offered
from scheduler.views.log_window import window
from scheduler.views.pills import job_pill
from workers.moments import clock, duration, minute, now
from workers.refusals import NotFound

LAST_LINES = 8
MOST_CLONES = 20
HELD = "It ends by itself. gpulayer runs nothing there: how to get at the devices stands under Devices."
SAID_BY_THE_ANSWER = ("exit_code", "unschedulable")
"""Failures that the one sentence already tells in full."""

TONES = {
    "ok": ("ok", "circle-check"),
    "run": ("ok", "circle-check"),
    "held": ("wait", "lock"),
    "wait": ("wait", "clock"),
    "stopping": ("wait", "player-stop"),
    "never": ("never", "ban"),
    "failed": ("never", "circle-x"),
    "timed_out": ("never", "hourglass"),
    "unknown": ("never", "help-circle"),
    "stopped": ("none", "player-stop"),
    "none": ("none", "clock"),
    "rsv": ("rsv", "bookmark"),
}
"""Pill kind -> tone and icon of the answer."""

_TIER_TONES = {
    TierStatus.PLACED: "ok",
    TierStatus.WAITING: "wait",
    TierStatus.NEVER: "never",
    TierStatus.CLOSED: "none",
    TierStatus.NOT_NEEDED: "none",
}


@dataclass(frozen=True, slots=True)
class TierStep:
    """One target of the job, in order."""

    name: str
    heading: str
    tone: str
    text: str
    later: bool

    @property
    def on(self) -> bool:
        """Whether it counted in this decision."""
        return self.tone != "none"


@dataclass(frozen=True, slots=True)
class Frame:
    """A job with its latest task and decision."""

    job: Job
    task: Task | None
    recorded: Recorded | None


def frame_of(user: AbstractBaseUser | AnonymousUser, job_id: str) -> Frame:
    """The job of that id, if this user sees it; raises Http404."""
    job = job_seen(user, job_id)
    newest = Task.objects.filter(attempt__job=job).select_related("worker", "attempt")
    return Frame(job, newest.order_by("-attempt__number", "rank").first(), recorded_for(user, job))


def job_seen(user: AbstractBaseUser | AnonymousUser, job_id: str) -> Job:
    """The same without its decision."""
    try:
        return find(user, job_id, among=WITH_ALL)
    except NotFound as error:
        raise Http404(error.detail) from error


def head_context(frame: Frame, user: AbstractBaseUser | AnonymousUser, *, read: int | None = None) -> dict[str, Any]:
    """What `_live.html` shows; `read` is the decision that the page below it shows."""
    job, rec = frame.job, frame.recorded
    pill = job_pill(job)
    shown = rec.row.pk if rec else None
    return {
        "nav": "jobs",
        "job": job,
        "task": frame.task,
        "pill": pill_with_time(job, pill),
        "tone": TONES[pill[0]],
        "facts": list(_facts(frame)),
        "answer": answer_of(frame),
        "failure": _failure(frame),
        "strays": strays_of(job.job_id),
        "tiers": _tiers(rec) if rec and len(rec.decision.tiers) > 1 else (),
        "worker": frame.task.worker.name if frame.task else "",
        "confirmed": _confirmed(frame),
        "is_hold": holds.seconds_asked(job) is not None,
        "acts": offered(user, job),
        "made_from": job.cloned_from if job.cloned_from and may_see(user, job.cloned_from) else None,
        "clones": clones_of(user, job, most=MOST_CLONES),
        "poll": "" if job.is_over else "1s",
        "live_query": f"read={read or shown or ''}",
        "newer": rec.row.pass_row.number if rec and read and read != shown and not job.is_over else None,
        **_output(frame.task),
    }


def answer_of(frame: Frame) -> Answer:
    """The one sentence, and what follows from it."""
    job, rec = frame.job, frame.recorded
    if paused := paused_words(job):
        return Answer(state=job.state, lead=paused, more=(UNTIL_RESUMED,))
    if held := holds.sentence(job, frame.task, now=now(), clock=lambda at: minute(at, now=now())):
        return Answer(state=job.state, lead=held, more=() if job.is_over else (HELD,))
    if rec is None:
        return Answer(state=job.state, lead=_undecided(job), more=())
    said = explain.answer(rec.entry, rec.decision, state=job.state, exit_code=job.exit_code)
    shown_as_tiers = explain.tier_sentences(rec.decision)
    return Answer(said.state, said.lead, tuple(text for text in said.more if text not in shown_as_tiers))


def pill_with_time(job: Job, pill: tuple[str, str]) -> tuple[str, str]:
    """A state that lasts says how long it has."""
    if job.state in (JobState.RUNNING, JobState.QUEUED) and pill[0] not in ("never", "held"):
        return pill[0], f"{pill[1]} {duration((now() - job.state_since).total_seconds(), coarse=True)}"
    return pill


def _undecided(job: Job) -> str:
    if not job.is_over:
        return "Not decided yet: the next pass looks at it in seconds"
    if job.state == JobState.CANCELLED and job.started_at is None:
        return "Cancelled before it was decided"
    return f"{job.get_state_display()}; why it ran where it ran is kept no longer"


def _facts(frame: Frame) -> Iterable[tuple[str, str]]:
    job, rec = frame.job, frame.recorded
    yield "Owner", job.owner.get_username()
    if job.team:
        yield "Team", job.team.name
    if rec:
        spec = rec.entry.spec
        yield "Asks for", explain.asks_for(spec)
        yield "Policy", spec.policy
        if spec.runtime.environment_stated:
            yield "Environment", spec.runtime.environment
        yield "If it never fits", spec.on_unschedulable
    if attempt := _attempt(frame):
        yield "Attempt", attempt
    yield "Submitted", clock(job.submitted_at, now=now())
    if job.started_at:
        yield "Waited", duration((job.started_at - job.submitted_at).total_seconds())
    if job.started_at and job.finished_at:
        yield (
            "Held" if holds.seconds_asked(job) else "Ran",
            duration((job.finished_at - job.started_at).total_seconds()),
        )
    if job.exit_code is not None and not holds.seconds_asked(job):
        yield "Exit code", str(job.exit_code)
    elif frame.task and frame.task.signal:
        yield "Ended by signal", str(frame.task.signal)


def _attempt(frame: Frame) -> str:
    if frame.task is None or frame.job.state in (JobState.QUEUED, JobState.PAUSED):
        return ""
    retries = frame.job.spec.get("retries") or {}
    return attempt_words(frame.task.attempt.number, int(retries.get("max", 0)))


def _failure(frame: Frame) -> tuple[str, str] | None:
    """What the agent said of it, in words, and its code; of a gang, also which rank it was."""
    job = frame.job
    is_told = job.failure_code in SAID_BY_THE_ANSWER and not (job.started_at and job.spec.get("distributed"))
    if not job.failure_code or is_told:
        return None
    said = job.failure_text or "it failed"
    named_first = frame.task is not None and said.startswith(frame.task.worker.name)  # names keep their case
    return f"{said}." if named_first else capital(said), job.failure_code


def _tiers(rec: Recorded) -> tuple[TierStep, ...]:
    return tuple(
        TierStep(
            name=tier.name,
            heading=f"{tier.name}, fallback when {rec.entry.spec.fallback_when}" if place else tier.name,
            tone=_TIER_TONES[tier.status],
            text=explain.tier_words(tier.status, rec.decision),
            later=place > 0,
        )
        for place, tier in enumerate(rec.decision.tiers)
    )


def _confirmed(frame: Frame) -> str:
    if frame.recorded is None:
        return ""
    row = frame.recorded.row
    figures = "with the figures of" if row.refreshed else "by"
    text = f"Decided at {clock(row.made_at, now=now())} {figures} pass {row.pass_row.number:,}"
    if frame.job.state != JobState.QUEUED:
        return f"{text}."
    latest = SchedulingPass.objects.filter(state="complete").order_by("-number").first()
    return f"{text}; still so at {latest.confirmed_at:%H:%M}." if latest else f"{text}."


def _output(task: Task | None) -> dict[str, Any]:
    if task is None or not task.log_size:
        return {"output": ()}
    lines = window(task, most=LAST_LINES).lines
    return {"output": lines, "output_words": _of_lines(lines[-1].number) if lines else ""}


def _of_lines(number: int) -> str:
    return "its only line" if number == 1 else f"of {number:,} lines"


def without_output(context: dict[str, Any]) -> dict[str, Any]:
    """The frame for the log's own page, which shows the output itself."""
    return {**context, "output": (), "live_query": context["live_query"] + "&tab=log"}
