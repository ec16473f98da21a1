"""The list of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BigIntegerField, Case, F, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from scheduler.core import explain
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.models import Job, JobState, Task
from scheduler.models.decisions import Outcome
from scheduler.models.jobs import JOB_OVER
from scheduler.services.teams import choices_for
from scheduler.services.visibility import seen_by
from scheduler.views.act_table import Act, offered_in_lists
from scheduler.views.pills import job_pill
from workers.devices import ranges
from workers.live import respond
from workers.moments import duration, now
from workers.paging import asked_of, by_key, link

RECENTLY = timedelta(hours=1)
MOST_COUNTED = 10_000
MOST_TEAMS = 100
GOING = (JobState.ASSIGNED, JobState.RUNNING, JobState.CANCELLING)
WAITING = (JobState.QUEUED, JobState.PAUSED)
FILTERS = ("state", "q", "owner", "team")
STATES = {"recent": "Recent", "queued": "Queued", "running": "Running", "ended": "Ended", "all": "All"}

_STEP = 10**15
"""More than there will ever be jobs: keeps the three parts of the recent list apart in one number."""
_PLACE = Case(
    When(state__in=WAITING, then=F("pk")),
    When(state__in=GOING, then=F("pk") + Value(_STEP)),
    default=Value(3 * _STEP) - F("pk"),
    output_field=BigIntegerField(),
)


@dataclass(frozen=True, slots=True)
class Tab:
    """One state to choose, with its number of jobs, up to `MOST_COUNTED`."""

    key: str
    text: str
    count: str
    link: str


class JobRow:
    """One job as a row."""

    def __init__(self, job: Job, task: Task | None, acts: Sequence[Act] = ()) -> None:
        self.job = job
        self.acts = acts
        self.task = task
        self.pill = job_pill(job)
        self.why = _why(job, self.pill[0], task.signal if task else None)
        self.asks = _asks(job)

    @property
    def devices(self) -> str:
        """Indices of its devices."""
        return ranges(self.task.devices) if self.task else ""

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
        return f"signal {self.task.signal}" if self.task and self.task.signal else ""


def job_list(request: HttpRequest) -> HttpResponse:
    """Jobs by state, words and owner, a page at a time."""
    asked = asked_of(request.GET, FILTERS)
    state = asked.get("state", "recent")
    state = state if state in STATES else "recent"
    moment = now()
    kept = {name: asked.get(name, "") for name in ("q", "owner", "team")}
    seen = seen_by(request.user)
    chosen = _matching(_in_state(seen, state, moment), asked, request.user.get_username())
    if state in ("recent", "queued"):
        page = by_key(chosen.annotate(place=_PLACE), "place", asked, number=True)
    else:
        page = by_key(chosen, "pk", asked, number=True, descending=True)
    tasks = _latest_tasks(page.rows)
    context = {
        "nav": "jobs",
        "page": page.map(lambda job: JobRow(job, tasks.get(job.pk), offered_in_lists(request.user, job))),
        "base": reverse("jobs"),
        "tabs": _tabs(seen, moment, kept),
        "state": state,
        "q": asked.get("q", ""),
        "owner": asked.get("owner", ""),
        "team": asked.get("team", ""),
        "teams": list(choices_for(request.user)[:MOST_TEAMS]),
        "no_jobs": not page.rows and not seen.exists(),
        "filtered": any(kept.values()),
        "query": link(asked),
    }
    return respond(
        request, page="scheduler/jobs.html", fragment="scheduler/_rows.html", aside="_partials/_state_tabs.html",
        context=context,
    )  # fmt: skip


def _tabs(seen: QuerySet[Job], moment: datetime, kept: Mapping[str, str]) -> list[Tab]:
    return [
        Tab(key, text, _counted(_in_state(seen, key, moment)), link(kept, state=key)) for key, text in STATES.items()
    ]  # fmt: skip


def _in_state(seen: QuerySet[Job], state: str, moment: datetime) -> QuerySet[Job]:
    recent = ~Q(state__in=JOB_OVER) | Q(finished_at__gte=moment - RECENTLY)
    conditions = {
        "recent": recent,
        "queued": Q(state__in=WAITING),
        "running": Q(state__in=GOING),
        "ended": Q(state__in=JOB_OVER),
        "all": Q(),
    }
    return seen.filter(conditions[state])


def _matching(jobs: QuerySet[Job], asked: Mapping[str, str], me: str) -> QuerySet[Job]:
    jobs = jobs.select_related("owner", "team", "decision").defer("failure_text")
    if owner := asked.get("owner"):
        jobs = jobs.filter(owner__username=me if owner == "me" else owner)
    if team := asked.get("team"):
        jobs = jobs.filter(team__name=team)
    if q := asked.get("q"):
        on_worker = Task.objects.filter(worker__name__icontains=q).values("attempt__job")
        jobs = jobs.filter(Q(name__icontains=q) | Q(job_id__iexact=q) | Q(pk__in=on_worker))
    return jobs


def _latest_tasks(jobs: tuple[Job, ...]) -> dict[int, Task]:
    rows = Task.objects.filter(attempt__job__in=[job.pk for job in jobs]).select_related("worker", "attempt")
    return {task.attempt.job_id: task for task in rows.order_by("attempt__number", "-rank")}


def _counted(jobs: QuerySet[Job]) -> str:
    count = jobs.order_by()[: MOST_COUNTED + 1].count()
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def _why(job: Job, kind: str, signal: int | None) -> tuple[str, str]:
    """Tone and words of why it is where it is; no tone where nothing is wrong."""
    if said := job.in_short(signal):
        return "" if job.state in (JobState.CANCELLED, JobState.PAUSED) else "never", said
    if job.decision is None:
        return "", "" if job.is_over else "not decided yet"
    words = str(job.decision.summary.get("short_answer", ""))
    if job.decision.outcome == Outcome.UNSCHEDULABLE:
        return "never", words
    return (kind if kind in ("wait", "rsv") else ""), words


def _asks(job: Job) -> str:
    try:
        return explain.asks_for(parse_job(job.spec))
    except DocumentError:
        return "?"


def _length(start: datetime, end: datetime | None) -> str:
    seconds = ((end or now()) - start).total_seconds()
    return duration(seconds) if end else duration(seconds, coarse=True)
