"""Finding the task that an agent speaks of, locked, and only for the worker, epoch and fence that may speak of it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from scheduler.core.codec import canonical_bytes
from scheduler.models import Attempt, Event, Job, Task
from workers.models import Credential, Liveness, Worker
from workers.models.worker import LIVE
from workers.refusals import NotFound, Refused
from workers.services.trail import note_refusal


@dataclass(frozen=True, slots=True)
class Held:
    """The rows that one report is about, locked. `tasks` are all of the attempt, by rank; `task` is one of them."""

    job: Job
    attempt: Attempt
    task: Task
    worker: Worker
    tasks: tuple[Task, ...]

    @property
    def actor(self) -> str:
        """How its events name the worker."""
        return f"worker:{self.worker.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishReport:
    """How a task ended, as its agent saw it.

    `start_error` is (code, detail) of one that could not be started, `ended_by` of one that the agent ended unasked.
    """

    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    log_size: int = 0
    log_total: int | None = None
    log_sha256: str = ""
    outputs_path: str | None = None
    start_error: tuple[str, str] | None = None
    ended_by: tuple[str, str] | None = None
    timed_out: bool = False

    def document(self) -> dict[str, Any]:
        """As it is kept, to compare a repeated report with."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def worker_of(*, credential: Credential, task_id: int) -> Worker:
    """The worker on which this task was placed, if the credential speaks for it. Raises NotFound.

    A worker that was revoked may still say how its tasks ended: which calls get as far as here is decided before.
    """
    mine = Worker.objects.filter(LIVE | Q(liveness=Liveness.REVOKED), credential=credential, tasks=task_id)
    worker = mine.first()
    if worker is None:
        _note_stranger(credential, task_id)
        raise NotFound(f"no task {task_id} for this worker", code="no_such_task")
    return worker


def _note_stranger(credential: Credential, task_id: int) -> None:
    """Write down that a worker spoke of a task of another one, which honest agents never do."""
    if Task.objects.filter(pk=task_id).exists():
        name = credential.workers.order_by("pk").values_list("name", flat=True).first() or credential.prefix
        note_refusal(actor=f"worker:{name}", subject=f"task {task_id}", reason="not_its_task", now=timezone.now())


def held(*, credential: Credential, task_id: int, fence: int, epoch: int) -> Held:
    """Job, attempt and tasks, locked in this order. Call it inside a transaction.

    Raises NotFound for another worker's task, Refused `stale_epoch` or `stale_fence` for what is out of date.
    """
    worker = worker_of(credential=credential, task_id=task_id)
    if worker.epoch != epoch:
        raise Refused("stale_epoch", f"this is epoch {epoch}, {worker.name!r} is at {worker.epoch}: register again")
    rows = locked(task_id)
    _check_fence(rows.task, rows.attempt, fence)
    return rows


def glanced(*, credential: Credential, task_id: int, fence: int) -> Task:
    """The task without any lock, for calls that change no state. Raises NotFound, Refused `stale_fence`."""
    worker_of(credential=credential, task_id=task_id)
    task = Task.objects.select_related("attempt").get(pk=task_id)
    _check_fence(task, task.attempt, fence)
    return task


def _check_fence(task: Task, attempt: Attempt, fence: int) -> None:
    if attempt.fence != fence:
        raise Refused("stale_fence", f"task {task.pk} has another fence than {fence}")


def locked(task_id: int) -> Held:
    """The rows of one task and its siblings, locked in the order that everything keeps: job, attempt, tasks by key."""
    attempt_id, job_id = Task.objects.values_list("attempt_id", "attempt__job_id").get(pk=task_id)
    job = Job.objects.select_for_update().get(pk=job_id)
    attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
    rows = Task.objects.filter(attempt=attempt).select_related("worker").select_for_update(of=("self",))
    tasks = tuple(sorted(rows.order_by("pk"), key=lambda row: row.rank))
    task = next(row for row in tasks if row.pk == task_id)
    return Held(job, attempt, task, task.worker, tasks)


def one_each(tasks: QuerySet[Task]) -> list[int]:
    """The key of one task of each attempt among these, in the order of the attempts."""
    keys: dict[int, int] = {}
    for attempt, task in tasks.order_by("attempt_id", "pk").values_list("attempt_id", "pk"):
        keys.setdefault(attempt, task)
    return list(keys.values())


def keep_evidence(rows: Held, report: FinishReport, *, now: datetime) -> None:
    """Note a report that came too late or said something else, once per different report."""
    document = report.document()
    digest = hashlib.sha256(canonical_bytes(document)).hexdigest()[:16]
    kept = Event.objects.filter(subject_kind="task", subject=str(rows.task.pk), verb="late_report", after=digest)
    if not kept.exists():
        Event.objects.create(
            at=now, actor=rows.actor, subject_kind="task", subject=str(rows.task.pk), verb="late_report",
            before=rows.task.state, after=digest, cause="the first report stands", detail=document,
        )  # fmt: skip
