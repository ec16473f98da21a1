"""Every attempt of a job with its tasks by rank: where each ran, how it ended, and which one took the others along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from scheduler.core.answers import capital
from scheduler.core.capability_software import torch_of
from scheduler.core.fleet import WorkerView
from scheduler.core.words import both, counted
from scheduler.models import Job, JobState, Task, TaskState
from scheduler.services import holds
from scheduler.services.recorded import Recorded
from scheduler.services.timeline import Ran, ran
from scheduler.views.job_answer import blamed_words
from scheduler.views.job_frame import frame_of
from scheduler.views.job_pages import job_page
from workers.devices import DeviceBox, device_boxes
from workers.moments import clock, duration, now

PILLS = {
    TaskState.ASSIGNED: ("wait", "Assigned"),
    TaskState.CLAIMED: ("wait", "Claimed"),
    TaskState.RUNNING: ("run", "Running"),
    TaskState.SUCCEEDED: ("ok", "Succeeded"),
    TaskState.FAILED: ("failed", "Failed"),
    TaskState.TIMED_OUT: ("timed_out", "Timed out"),
    TaskState.CANCELLED: ("stopped", "Cancelled"),
    TaskState.REVOKED: ("stopped", "Taken back"),
    TaskState.UNKNOWN: ("contact", "Contact lost"),
    TaskState.LOST: ("unknown", "Lost"),
}


@dataclass(frozen=True, slots=True)
class Rank:
    """One task."""

    task: Task
    pill: tuple[str, str]
    boxes: tuple[DeviceBox, ...]
    torch: str
    ran: str
    exit: str
    log: str
    """The address of its log, as a query string; empty where it has none."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt: a title, what holds for all its ranks, and what became of it."""

    number: int
    words: str
    ranks: tuple[Rank, ...]
    foot: str
    with_torch: bool


def tasks(request: HttpRequest, job_id: str) -> HttpResponse:
    """All attempts, the newest first."""
    frame = frame_of(request.user, job_id)
    views = {view.id: view for view in frame.recorded.fleet.workers} if frame.recorded else {}
    tries = [
        _try(frame.job, each, frame.recorded if place == 0 else None, views)
        for place, each in enumerate(ran(frame.job))
    ]
    return job_page(request, frame, "scheduler/job_tasks.html", {"tab": "tasks", "tries": tries})


def _try(job: Job, each: Ran, rec: Recorded | None, views: Mapping[str, WorkerView]) -> Try:
    placed = {place.worker for place in rec.decision.assignments} if rec else set()
    seen = views if placed.issuperset(task.worker.name for task in each.tasks) else {}
    environment = rec.entry.spec.runtime.environment if rec else None
    ranks = tuple(_rank(job, each, task, seen.get(task.worker.name), environment) for task in each.tasks)
    torches = {rank.torch for rank in ranks if rank.torch}
    return Try(
        number=each.attempt.number,
        words=" · ".join(_words(each, torches)),
        ranks=ranks,
        foot=_foot(job, each),
        with_torch=bool(torches),
    )


def _rank(job: Job, each: Ran, task: Task, view: WorkerView | None, environment: str | None) -> Rank:
    boxes = device_boxes(view, task.devices) if view else ()
    return Rank(
        task=task,
        pill=PILLS[TaskState(task.state)],
        boxes=boxes or tuple(DeviceBox(index, "sel", "held by it") for index in task.devices),
        torch=(torch_of(view.facts, environment) or "") if view and environment and job.spec.get("distributed") else "",
        ran=_length(task.started_at, task.finished_at),
        exit=_exit(task),
        log="" if holds.seconds_asked(job) is not None or not task.started_at else _log(each.attempt.number, task.rank),
    )


def _log(attempt: int, rank: int) -> str:
    return urlencode({"attempt": attempt, "rank": rank})


def _words(each: Ran, torches: set[str]) -> Iterator[str]:
    if len(each.tasks) > 1:
        yield f"{counted(len(each.tasks), 'rank')}{f', all with torch {min(torches)}' if len(torches) == 1 else ''}"
    if each.started_at:
        together = "started together" if len(each.tasks) > 1 else "started"
        yield f"{together} {clock(each.started_at, now=now())}"
    if len(each.tasks) > 1:
        yield f"rank 0 on {each.tasks[0].worker.name} is the master"
    if each.attempt.ended_at:
        yield f"{each.attempt.get_state_display()} {clock(each.attempt.ended_at, now=now())}"


def _exit(task: Task) -> str:
    told = []
    if task.exit_code is not None:
        told.append(f"exit code {task.exit_code}")
    if task.signal:
        told.append(f"signal {task.signal}")
    if task.failure_text or task.failure_code not in ("", "exit_code", "signal"):
        told.append(task.failure_text or task.failure_code.replace("_", " "))
    return ": ".join([", ".join(told[:2]), *told[2:]]) if len(told) > 2 else ": ".join(told)


def _foot(job: Job, each: Ran) -> str:
    """What the first that failed did to the others, and what is tried next."""
    blamed = blamed_words(each.tasks)
    if not blamed:
        return ""
    retries = job.spec.get("retries") or {}
    most = int(retries.get("max", 0))
    if each.attempt.number > most:
        after = "The job has no retries." if not most else f"That was the last of {most + 1:,} attempts."
        return f"{capital(blamed)} {after}"
    on = both(retries.get("on") or ["lost"])
    following = f"attempt {each.attempt.number + 1:,} of {most + 1:,}"
    waits = f"; {following} is queued" if job.state == JobState.QUEUED else ""
    elsewhere = both(
        sorted({task.worker.name for task in each.tasks if task.state in (TaskState.FAILED, TaskState.LOST)})
    )
    avoids = (
        f", and avoids {elsewhere} while another worker can take its place" if waits and elsewhere != "none" else ""
    )
    return f"{capital(blamed)} Retries: {counted(most, 'time')} at most, on {on}{waits}{avoids}."


def _length(start: datetime | None, end: datetime | None) -> str:
    if start is None:
        return ""
    return duration(((end or now()) - start).total_seconds(), coarse=end is None)
