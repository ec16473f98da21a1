"""A job as a row of a list: its state, why in a few words, and where."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scheduler.core import explain
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.core.spec import JobSpec
from scheduler.core.words import attempt_words
from scheduler.models import Job, JobState, Task
from scheduler.models.decisions import Outcome
from scheduler.views.act_table import Act
from scheduler.views.pills import Pill, job_pill
from workers.devices import ranges
from workers.moments import clock, duration, now

ATTENTION = ("wait", "rsv")
"""Pills whose reason is marked like them."""


@dataclass(slots=True)
class JobRow:
    """One job; `task` is the first of its latest attempt, `silent` one whose host is out of contact,
    `idle_since` when its devices were last used, if that is long ago."""

    job: Job
    task: Task | None
    silent: Task | None = None
    idle_since: datetime | None = None
    acts: Sequence[Act] = ()
    spec: JobSpec | None = field(init=False)
    pill: Pill = field(init=False)
    why: tuple[str, str] = field(init=False)
    """Tone and words of why it is where it is; no tone where nothing is wrong."""

    def __post_init__(self) -> None:
        self.spec = _spec(self.job)
        self.pill = ("contact", "Contact lost") if self.silent else self._pill_with_try()
        self.why = self._silence(self.silent) if self.silent else self._why()

    @property
    def asks(self) -> str:
        """What it asks for."""
        return explain.asks_for(self.spec) if self.spec else "?"

    @property
    def devices(self) -> str:
        """Indices of its devices."""
        return ranges(self.task.devices) if self.task else ""

    @property
    def more_workers(self) -> int:
        """On how many workers it is besides the first."""
        gang = self.spec.distributed if self.spec else None
        return gang.num_workers - 1 if gang and self.task else 0

    @property
    def waited(self) -> str:
        """From submission to its start, or until now."""
        return _length(self.job.submitted_at, self.job.started_at or self.job.finished_at)

    @property
    def ran(self) -> str:
        """From its start to its end, or until now."""
        return _length(self.job.started_at, self.job.finished_at) if self.job.started_at else ""

    @property
    def exit(self) -> str:
        """How its process ended."""
        if self.job.exit_code is not None:
            return str(self.job.exit_code)
        return signal_name(self.task.signal) if self.task and self.task.signal else ""

    def _pill_with_try(self) -> Pill:
        """One that waits again says which try it waits for."""
        kind, text = job_pill(self.job)
        if self.job.state != JobState.QUEUED or self.task is None or kind == "never":
            return kind, text
        retries = int((self.job.spec.get("retries") or {}).get("max", 0))
        words = attempt_words(self.task.attempt.number + 1, retries)
        return kind, f"{text}, try {words}" if words else text

    def _why(self) -> tuple[str, str]:
        job, kind = self.job, self.pill[0]
        if said := job.in_short(self.task.signal if self.task else None):
            return "" if job.state in (JobState.CANCELLED, JobState.PAUSED) else "never", said
        if job.state == JobState.CANCELLING and job.cancel_requested_at:
            return "wait", f"asked to end at {clock(job.cancel_requested_at, now=now())}"
        if self.idle_since:
            return "wait", f"held but idle {_length(self.idle_since, None)}"
        if job.decision is None:
            return "", "" if job.is_over else "not decided yet"
        words = str(job.decision.summary.get("short_answer", ""))
        if job.decision.outcome == Outcome.UNSCHEDULABLE:
            return "never", words
        return (kind if kind in ATTENTION else ""), words

    @staticmethod
    def _silence(task: Task) -> tuple[str, str]:
        return "wait", f"{task.worker.name} silent since {clock(task.state_since, now=now())}; keeps its devices"


def signal_name(number: int) -> str:
    """`SIGKILL`; of one that has no name here, its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _spec(job: Job) -> JobSpec | None:
    try:
        return parse_job(job.spec)
    except DocumentError:
        return None


def _length(start: datetime, end: datetime | None) -> str:
    seconds = ((end or now()) - start).total_seconds()
    return duration(seconds) if end else duration(seconds, coarse=True)
