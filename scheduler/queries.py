"""What lists and answers need of rows: pages by key, a fixed number of queries each, however many rows there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import F, Max, Q, QuerySet

from scheduler.core.fleet import WorkerView
from scheduler.models import Job, JobState, Task
from scheduler.models.jobs import JOB_OVER
from scheduler.occupancy import views_of
from workers.models import Worker
from workers.models.worker import LIVE

MOST_ROWS = 200
STATE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "active": tuple(state for state in JobState.values if state not in JOB_OVER),
    "over": tuple(JOB_OVER),
}
"""States by which a list may be asked for besides each single one."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job with its owner, its latest decision and the tasks of its latest attempt, by rank."""

    job: Job
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Some jobs, newest first; `after` is what to ask the next page with, None at the end."""

    rows: tuple[JobRow, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker as a pass would see it now, with the tasks that hold something of it."""

    worker: Worker
    view: WorkerView | None
    """None: enrolled only, so no pass sees it."""
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """Some workers by name; `after` as for jobs."""

    rows: tuple[WorkerRow, ...]
    after: str | None


def jobs_page(
    jobs: QuerySet[Job], *, state: str = "", q: str = "", owner: str = "", team: str = "", after: str = "",
    limit: int = 50,
) -> JobsPage:  # fmt: skip
    """Those of `jobs` of a state (or of `active`, `over`), an owner and a team, whose name or id contains `q`.

    Two queries.

    `after` is a job id; one that is none is taken as absent.
    """
    limit = max(1, min(limit, MOST_ROWS))
    jobs = _chosen(jobs, state, q, owner, team).select_related("owner", "team", "decision")
    older = _key_of(after)
    if older is not None:
        jobs = jobs.filter(pk__lt=older)
    rows = list(jobs.order_by("-pk")[: limit + 1])
    return JobsPage(_with_tasks(rows[:limit]), rows[limit - 1].job_id if len(rows) > limit else None)


WITH_ALL = Job.objects.select_related("owner", "team", "decision__pass_row", "cloned_from")
"""Jobs with what one job's page says of it."""


def row_of(job: Job) -> JobRow:
    """The job with its tasks. One query."""
    return _with_tasks([job])[0]


def workers_page(*, q: str = "", after: str = "", limit: int = 50) -> WorkersPage:
    """Live workers by name, whose name contains `q`: eight queries at most."""
    limit = max(1, min(limit, MOST_ROWS))
    workers = Worker.objects.filter(LIVE).select_related("facts").order_by("name", "pk")
    if q:
        workers = workers.filter(name__icontains=q)
    if after:
        workers = workers.filter(name__gt=after)
    rows = list(workers[: limit + 1])
    return WorkersPage(_with_load(rows[:limit]), rows[limit - 1].name if len(rows) > limit else None)


def worker_row(name: str) -> WorkerRow | None:
    """The live worker of that name; None where there is none."""
    worker = Worker.objects.filter(LIVE, name=name).select_related("facts").first()
    return _with_load([worker])[0] if worker else None


def _chosen(jobs: QuerySet[Job], state: str, q: str, owner: str, team: str) -> QuerySet[Job]:
    if state:
        jobs = jobs.filter(state__in=STATE_GROUPS.get(state, (state,)))
    if owner:
        jobs = jobs.filter(owner__username=owner)
    if team:
        jobs = jobs.filter(team__name=team)
    if q:
        jobs = jobs.filter(Q(name__icontains=q) | Q(job_id__icontains=q))
    return jobs


def _key_of(job_id: str) -> int | None:
    """The key of a job by its id, whether or not it is there: `j-12` is 12."""
    number = job_id.removeprefix("j-")
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= 18 else None


def _with_tasks(jobs: Iterable[Job]) -> tuple[JobRow, ...]:
    jobs = list(jobs)
    newest = Task.objects.filter(attempt__job__in=jobs).annotate(newest=Max("attempt__job__attempts__number"))
    tasks: defaultdict[int, list[Task]] = defaultdict(list)
    for task in newest.filter(attempt__number=F("newest")).select_related("worker", "attempt").order_by("rank"):
        tasks[task.attempt.job_id].append(task)
    return tuple(JobRow(job, tuple(tasks[job.pk])) for job in jobs)


def _with_load(workers: list[Worker]) -> tuple[WorkerRow, ...]:
    views = views_of([worker.name for worker in workers])
    tasks: defaultdict[int, list[Task]] = defaultdict(list)
    rows = Task.objects.filter(worker__in=workers, released_at__isnull=True).select_related("attempt__job__owner")
    for task in rows.order_by("pk"):
        tasks[task.worker_id].append(task)
    return tuple(WorkerRow(worker, views.get(worker.name), tuple(tasks[worker.pk])) for worker in workers)
