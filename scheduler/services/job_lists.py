"""The jobs of a list: by state, by what keeps them waiting, by owner, team and words; and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Max, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform

from scheduler.models import DeviceHold, Job, JobState, Task, TaskState
from scheduler.models.decisions import Outcome
from scheduler.models.jobs import JOB_OVER
from scheduler.services.idleness import WORTH_TELLING
from scheduler.services.visibility import is_job_id
from workers.models import Worker

RECENTLY = timedelta(hours=1)
GOING = (JobState.ASSIGNED, JobState.RUNNING, JobState.CANCELLING)
WAITING = (JobState.QUEUED, JobState.PAUSED)
STATES: Mapping[str, str] = {
    "recent": "Recent", "queued": "Queued", "running": "Running", "held": "Held", "contact": "Contact lost",
    "ended": "Ended", "all": "All",
}  # fmt: skip
FILTERS: Mapping[str, str] = {
    "q": "the words", "owner": "the owner", "team": "the team", "reason": "the reason", "state": "the state",
}  # fmt: skip
"""What a list is narrowed by, and what that is called."""
NEVER = "never"
"""The reason of all that never fit, whatever they lack."""
MOST_REASONS = 24
MOST_NAMED = 500
"""Databases bound the length of a list."""

_SILENT = Task.objects.filter(state=TaskState.UNKNOWN, released_at__isnull=True)
"""Tasks of which nobody knows whether they still run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for; `me` is who asks, `moment` when."""

    kept: Mapping[str, str]
    me: str
    moment: datetime

    def of(self, jobs: QuerySet[Job], *, without: str = "") -> QuerySet[Job]:
        """Those of these jobs that match, or would if one of the filters were not there."""
        kept = {name: value for name, value in self.kept.items() if name != without}
        jobs = in_state(jobs, kept.get("state", "all"), self.moment)
        if owner := kept.get("owner"):
            jobs = jobs.filter(owner__username=self.me if owner == "me" else owner)
        if team := kept.get("team"):
            jobs = jobs.filter(team__name=team)
        if reason := kept.get("reason"):
            jobs = jobs.filter(state=JobState.QUEUED).filter(_kept_by(reason))
        return jobs.filter(_named(kept["q"])) if kept.get("q") else jobs


def in_state(jobs: QuerySet[Job], state: str, moment: datetime) -> QuerySet[Job]:
    """Those of one tab of the list."""
    conditions = {
        "recent": Q(state__in=(*WAITING, *GOING)) | Q(state__in=JOB_OVER, finished_at__gte=moment - RECENTLY),
        "queued": Q(state__in=WAITING),
        "running": Q(state__in=GOING),
        "held": Q(state=JobState.RUNNING, hold_until__isnull=False),
        "contact": Q(state__in=GOING, pk__in=_SILENT.values("attempt__job")),
        "ended": Q(state__in=JOB_OVER),
        "all": Q(),
    }
    return jobs.filter(conditions[state])


def numbers(jobs: QuerySet[Job], moment: datetime) -> dict[str, int]:
    """How many of these jobs each tab has. Four queries, of which one walks an index of all of them."""
    each = dict(jobs.order_by().values_list("state").annotate(Count("pk")))
    waiting, going, over = (sum(each.get(state, 0) for state in states) for states in (WAITING, GOING, JOB_OVER))
    lately = jobs.order_by().filter(state__in=JOB_OVER, finished_at__gte=moment - RECENTLY).count()
    rest = {state: in_state(jobs, state, moment).order_by().count() for state in ("held", "contact")}
    return {
        "recent": waiting + going + lately, "queued": waiting, "running": going, **rest, "ended": over,
        "all": waiting + going + over,
    }  # fmt: skip


def reasons(jobs: QuerySet[Job]) -> list[tuple[str, tuple[str, ...]]]:
    """What keeps the queued ones of these jobs, the commonest first: outcome and codes. One query."""
    held = KeyTextTransform("held_by", "decision__summary")
    rows = jobs.order_by().filter(state=JobState.QUEUED, decision__isnull=False)
    counted = rows.values_list("decision__outcome", held).annotate(jobs=Count("pk")).order_by("-jobs")[:MOST_REASONS]
    return [(outcome, tuple(codes.split(","))) for outcome, codes, _ in counted if codes]


def silent_tasks(jobs: Iterable[Job]) -> dict[int, Task]:
    """By job: the first task whose host is out of contact. One query."""
    keys = [job.pk for job in jobs]
    rows = _SILENT.filter(attempt__job__in=keys, attempt__active=True).select_related("worker", "attempt")
    return {task.attempt.job_id: task for task in rows.order_by("-rank")}


def idle_jobs(jobs: Iterable[Job], moment: datetime) -> dict[int, datetime]:
    """By job: since when all of its devices have been idle, where that is worth telling. One query."""
    held = DeviceHold.objects.filter(released_at__isnull=True, task__attempt__job__in=[job.pk for job in jobs])
    each = held.order_by().values("task__attempt__job")
    counted = each.annotate(all=Count("pk"), idle=Count("idle_since"), since=Max("idle_since"))
    long = counted.filter(all=F("idle"), since__lte=moment - WORTH_TELLING)
    return {int(row["task__attempt__job"]): row["since"] for row in long}


def _kept_by(reason: str) -> Q:
    if reason == NEVER:
        return Q(decision__outcome=Outcome.UNSCHEDULABLE)
    return Q(decision__summary__held_by=reason)


def _named(words: str) -> Q:
    """By name, by a worker it is or was on, or by its id."""
    found = Q(name__icontains=words)
    hosts = list(Worker.objects.filter(name__icontains=words).values_list("pk", flat=True)[: MOST_NAMED + 1])
    if len(hosts) > MOST_NAMED:
        found |= Q(pk__in=Task.objects.filter(worker__name__icontains=words).values("attempt__job"))
    elif hosts:
        found |= Q(pk__in=Task.objects.filter(worker__in=hosts).values("attempt__job"))
    return found | Q(job_id=words.lower()) if is_job_id(words.lower()) else found
