"""The line of facts below a job's name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler.core import explain
from scheduler.core.spec import JobSpec
from scheduler.core.words import attempt_words, both, counted
from scheduler.models import Job, JobState, Task
from scheduler.services import holds
from scheduler.services.recorded import Recorded
from workers.moments import clock, duration, now

Fact = tuple[str, str]


def facts_of(job: Job, tasks: Sequence[Task], rec: Recorded | None) -> Iterable[Fact]:
    """Name and value of each: whose it is, what it asks for, how long it took."""
    yield "Owner", job.owner.get_username()
    if job.team:
        yield "Team", job.team.name
    if rec:
        yield from _asked(rec.entry.spec)
    if attempt := _attempt(job, tasks):
        yield "Attempt", attempt
    yield "Submitted", clock(job.submitted_at, now=now())
    if job.started_at:
        yield "Waited", duration((job.started_at - job.submitted_at).total_seconds())
    yield from _how_it_went(job, tasks)


def _asked(spec: JobSpec) -> Iterable[Fact]:
    yield "Asks for", explain.asks_for(spec)
    if spec.distributed:
        processes = counted(spec.distributed.procs_per_worker, "process per worker", "processes per worker")
        yield "Distributed", f"{spec.distributed.launcher}, {spec.distributed.comm_backend}, {processes}"
    runtime = spec.runtime
    needs = [f"{name} {rule}".strip() for name, rule in runtime.frameworks]
    if runtime.environment_stated or needs:
        yield "Environment", ", ".join(filter(None, (runtime.environment, *needs)))
    yield "Policy", spec.policy
    if labels := spec.placement.worker_labels:
        yield "Label" if len(labels) == 1 else "Labels", both(f"{key}={value}" for key, value in labels)
    if spec.timeout_s:
        yield "Time limit", duration(spec.timeout_s)
    if spec.retries.max:
        yield "Retries", f"{spec.retries.max:,}, on {both(spec.retries.on)}"
    yield "If it never fits", spec.on_unschedulable


def _how_it_went(job: Job, tasks: Sequence[Task]) -> Iterable[Fact]:
    is_hold = holds.seconds_asked(job) is not None
    if job.started_at and job.finished_at:
        ran = duration((job.finished_at - job.started_at).total_seconds())
        began, ended = clock(job.started_at, now=now()), clock(job.finished_at, now=now())
        yield "Held" if is_hold else "Ran", f"{ran}, {began} – {ended}"
    if job.exit_code is not None and not is_hold:
        yield "Exit code", str(job.exit_code)
    elif signals := [task.signal for task in tasks if task.signal]:
        yield "Ended by signal", str(signals[0])


def _attempt(job: Job, tasks: Sequence[Task]) -> str:
    if not tasks or job.state in (JobState.QUEUED, JobState.PAUSED):
        return ""
    retries = job.spec.get("retries") or {}
    return attempt_words(tasks[0].attempt.number, int(retries.get("max", 0)))
