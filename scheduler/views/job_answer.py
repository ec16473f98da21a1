"""The one sentence about a job, what follows from it, and its targets in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduler.core import explain
from scheduler.core.answers import capital
from scheduler.core.decision import TierStatus
from scheduler.core.explain import Answer
from scheduler.core.words import counted
from scheduler.models import Job, JobState, Kept, SchedulingPass, Task, TaskState
from scheduler.services import holds
from scheduler.services.idleness import WORTH_TELLING
from scheduler.services.job_use import idle_since, use_of
from scheduler.services.pausing import UNTIL_RESUMED, paused_words
from scheduler.services.recorded import Recorded
from workers.moments import clock, duration, minute, now

HELD = "It ends by itself. gpulayer runs nothing there: how to get at the devices stands under Devices."
SAID_BY_THE_ANSWER = ("exit_code", "unschedulable")
"""Failures that the one sentence already tells in full."""
BAD = (TaskState.FAILED, TaskState.TIMED_OUT, TaskState.LOST)

TONES = {
    "ok": ("ok", "circle-check"),
    "run": ("ok", "circle-check"),
    "held": ("wait", "lock"),
    "wait": ("wait", "clock"),
    "contact": ("wait", "plug-connected-x"),
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


def in_my_zone(at: datetime) -> str:
    """An instant as sentences of these pages say it: to the minute, in the zone of whoever looks."""
    return minute(at, now=now())


def out_of_contact(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that may be running on hosts that are not heard of."""
    return [task for task in tasks if task.state == TaskState.UNKNOWN]


def answer_of(job: Job, tasks: Sequence[Task], rec: Recorded | None) -> Answer:
    """The one sentence, and what follows from it."""
    if paused := paused_words(job):
        return Answer(state=job.state, lead=paused, more=(UNTIL_RESUMED,))
    if lost := out_of_contact(tasks):
        return _contact_lost(job, lost)
    if held := holds.sentence(job, tasks[0] if tasks else None, now=now(), clock=in_my_zone):
        return Answer(state=job.state, lead=held, more=() if job.is_over else (*held_but_idle(job, tasks), HELD))
    if rec is None:
        return Answer(state=job.state, lead=_undecided(job), more=())
    said = explain.answer(rec.entry, rec.decision, state=job.state, exit_code=job.exit_code, clock=in_my_zone)
    shown_as_tiers = explain.tier_sentences(rec.decision)
    more = tuple(text for text in said.more if text not in shown_as_tiers)
    return Answer(said.state, said.lead, (*_attempt_before(job, tasks), *more))


def held_but_idle(job: Job, tasks: Sequence[Task]) -> tuple[str, ...]:
    """That nothing has run for long on what a person holds. One query for what is held, none for others."""
    if not holds.is_held(job) or len(tasks) != 1:
        return ()
    since = idle_since(use_of(tasks[0]))
    if since is None or now() - since < WORTH_TELLING:
        return ()
    idle = duration((now() - since).total_seconds(), coarse=True)
    return (f"Held but idle {idle}: nothing has run on its devices since {in_my_zone(since)}.",)


def _contact_lost(job: Job, lost: Sequence[Task]) -> Answer:
    since = min(task.state_since for task in lost)
    hosts = ", ".join(task.worker.name for task in lost)
    lead = f"Contact lost since {clock(since, now=now())} with {hosts}; the job may still be running there."
    reruns = lost[0].attempt.leased_until
    if reruns:
        more = (
            f"If nothing is heard of it until {clock(reruns, now=now())}, this attempt is taken for lost: its host has "
            "ended it by then, and the job is queued again."
        )
    else:
        more = (
            "It is not stopped: it runs on without this server and reports when the host is back. Until then its "
            "devices stay held, so that nothing else starts on them. Give up on it only if you know that the host is "
            "off."
        )
    return Answer(state=job.state, lead=lead, more=(more,))


def _attempt_before(job: Job, tasks: Sequence[Task]) -> tuple[str, ...]:
    """Of a job that waits for another attempt: how the last one ended."""
    if job.state != JobState.QUEUED or not tasks:
        return ()
    attempt = tasks[0].attempt
    return (f"Attempt {attempt.number} {attempt.get_state_display()}: {blamed_words(tasks)}.",) if _bad(tasks) else ()


def _bad(tasks: Sequence[Task]) -> Task | None:
    """The task that ended badly first, of which the others were the followers."""
    bad = [task for task in tasks if task.state in BAD]
    return min(bad, key=lambda task: (task.finished_at or task.state_since, task.rank), default=None)


def blamed_words(tasks: Sequence[Task]) -> str:
    """`rank 2 on gpu-034 failed with exit code 1, so the 3 other ranks were ended`; empty where nothing went wrong."""
    bad = _bad(tasks)
    if bad is None:
        return ""
    who = f"rank {bad.rank} on {bad.worker.name}" if len(tasks) > 1 else f"on {bad.worker.name} it"
    how = {TaskState.TIMED_OUT: "ran longer than its time limit", TaskState.LOST: "was lost"}.get(
        TaskState(bad.state), "failed"
    )
    with_code = f" with exit code {bad.exit_code}" if bad.exit_code is not None else ""
    with_signal = f" by signal {bad.signal}" if bad.signal else ""
    others = counted(len(tasks) - 1, "other rank was", "other ranks were").removeprefix("1 ")
    ended = f", so the {others} ended" if len(tasks) > 1 else ""
    return f"{who} {how}{with_code}{with_signal}{ended}"


def failure_of(job: Job, tasks: Sequence[Task]) -> tuple[str, str] | None:
    """What the agent said of it, in words, and its code; of a gang, also which rank it was."""
    is_told = job.failure_code in SAID_BY_THE_ANSWER and not (job.started_at and job.spec.get("distributed"))
    if not job.failure_code or is_told:
        return None
    said = job.failure_text or "it failed"
    named_first = any(said.startswith(task.worker.name) for task in tasks[:1])  # names keep their case
    return f"{said}." if named_first else capital(said), job.failure_code


def _undecided(job: Job) -> str:
    if not job.is_over:
        return "Not decided yet: the next pass looks at it in seconds"
    if job.state == JobState.CANCELLED and job.started_at is None:
        return "Cancelled before it was decided"
    return f"{job.get_state_display()}; why it ran where it ran is kept no longer"


def tier_steps(rec: Recorded) -> tuple[TierStep, ...]:
    """Its targets in order, and what became of each in this decision."""
    alone = len(rec.decision.tiers) == 1
    return tuple(
        TierStep(
            name=tier.name,
            heading=f"{tier.name}, fallback when {rec.entry.spec.fallback_when}" if place else tier.name,
            tone=_TIER_TONES[tier.status],
            text=explain.only_tier_words(rec.decision) if alone else explain.tier_words(tier.status, rec.decision),
            later=place > 0,
        )
        for place, tier in enumerate(rec.decision.tiers)
    )


def confirmed(job: Job, rec: Recorded | None) -> str:
    """By which pass it was decided so, and when it was last found to be still so."""
    if rec is None:
        return ""
    row = rec.row
    figures = "with the figures of" if row.refreshed else "by"
    text = f"Decided at {clock(row.made_at, now=now())} {figures} pass {row.pass_row.number:,}"
    if job.state != JobState.QUEUED:
        return f"{text}; kept as it was, whatever changes later."
    latest = SchedulingPass.objects.filter(state="complete").order_by("-number").first()
    return f"{text}; still so at {minute(latest.confirmed_at, now=now())}." if latest else f"{text}."


def has_earlier(rec: Recorded | None) -> bool:
    """Whether a decision is kept that differs from this one."""
    return rec is not None and rec.row.kept != Kept.FIRST
