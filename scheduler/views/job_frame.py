"""What every page about one job shows above its tabs: state, facts and the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Subquery
from django.http import Http404

from scheduler.models import Attempt, Job, JobState, Task
from scheduler.queries import WITH_ALL
from scheduler.services import holds
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.strays import strays_of
from scheduler.services.visibility import clones_of, find, may_see
from scheduler.views.act_table import offered
from scheduler.views.job_answer import TONES, answer_of, confirmed, failure_of, has_earlier, out_of_contact, tier_steps
from scheduler.views.job_facts import facts_of
from scheduler.views.log_window import window
from scheduler.views.pills import job_pill
from workers.moments import duration, now
from workers.refusals import NotFound

LAST_LINES = 8
MOST_CLONES = 20


@dataclass(frozen=True, slots=True)
class Frame:
    """A job with the tasks of its newest attempt, by rank, and its latest decision."""

    job: Job
    tasks: tuple[Task, ...]
    recorded: Recorded | None

    @property
    def task(self) -> Task | None:
        """Its first rank."""
        return self.tasks[0] if self.tasks else None


def frame_of(user: AbstractBaseUser | AnonymousUser, job_id: str) -> Frame:
    """The job of that id, if this user sees it; raises Http404."""
    job = job_seen(user, job_id)
    newest = Attempt.objects.filter(job=job).order_by("-number").values("pk")[:1]
    tasks = Task.objects.filter(attempt=Subquery(newest)).select_related("worker", "attempt").order_by("rank")
    return Frame(job, tuple(tasks), recorded_for(user, job))


def job_seen(user: AbstractBaseUser | AnonymousUser, job_id: str) -> Job:
    """The same without its decision."""
    try:
        return find(user, job_id, among=WITH_ALL)
    except NotFound as error:
        raise Http404(error.detail) from error


def head_context(frame: Frame, user: AbstractBaseUser | AnonymousUser, *, read: int | None = None) -> dict[str, Any]:
    """What `_live.html` shows; `read` is the decision that the page below it shows."""
    job, tasks, rec = frame.job, frame.tasks, frame.recorded
    pill = ("contact", "Contact lost") if out_of_contact(tasks) else job_pill(job)
    shown = rec.row.pk if rec else None
    return {
        "nav": "jobs",
        "job": job,
        "task": frame.task,
        "tasks_count": len(tasks) if job.state not in (JobState.QUEUED, JobState.PAUSED) else 0,
        "pill": pill_with_time(job, pill),
        "tone": TONES[pill[0]],
        "facts": list(facts_of(job, tasks, rec)),
        "answer": answer_of(job, tasks, rec),
        "failure": failure_of(job, tasks),
        "strays": strays_of(job.job_id),
        "tiers": tier_steps(rec) if rec else (),
        "worker": frame.task.worker.name if frame.task else "",
        "confirmed": confirmed(job, rec),
        "has_earlier": has_earlier(rec),
        "is_hold": holds.seconds_asked(job) is not None,
        "acts": offered(user, job),
        "made_from": job.cloned_from if job.cloned_from and may_see(user, job.cloned_from) else None,
        "clones": clones_of(user, job, most=MOST_CLONES),
        "poll": "" if job.is_over else "1s",
        "live_query": f"read={read or shown or ''}",
        "newer": rec.row.pass_row.number if rec and read and read != shown and not job.is_over else None,
        **_output(frame.task),
    }


def pill_with_time(job: Job, pill: tuple[str, str]) -> tuple[str, str]:
    """A state that lasts says how long it has."""
    if job.state in (JobState.RUNNING, JobState.QUEUED) and pill[0] not in ("never", "held", "contact"):
        return pill[0], f"{pill[1]} {duration((now() - job.state_since).total_seconds(), coarse=True)}"
    return pill


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
