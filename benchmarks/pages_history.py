"""Rows of jobs that ended long ago, written as rows: nothing decides what is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db.models import OuterRef, Subquery

from benchmarks import fleets
from benchmarks.replay import numbered
from scheduler.core.codec import job_to_document
from scheduler.core.parsing import parse_job
from scheduler.models import (
    Attempt,
    AttemptState,
    Decision,
    Event,
    Job,
    JobState,
    Kept,
    Task,
    TaskState,
)
from scheduler.services.holding import draw_fences, release
from scheduler.services.machines import ATTEMPT, JOB, TASK
from workers.models import Worker

DAYS = 30
AT_ONCE = 2_000
ENDS = ("succeeded",) * 17 + ("failed", "failed", "timed_out")


def write_history(count: int, people: Sequence[User], *, until: datetime, seed: int) -> None:
    """So many jobs, evenly over the last thirty days, each with the one task that ran it and what the trail says."""
    dice, workers = Random(seed), list(Worker.objects.order_by("name"))
    specs = [job_to_document(parse_job(each["spec"])) for each in fleets.jobs(20, 20, seed)]
    step = timedelta(days=DAYS) / max(1, count)
    teams = {user.pk: user.groups.first() for user in people}
    jobs = (
        _job(specs[number % len(specs)], people[number % len(people)], teams, until - step * (count - number), dice)
        for number in range(count)
    )
    for some in _in_parts(jobs):
        rows = numbered(some)
        attempts = Attempt.objects.bulk_create(_attempts(rows))
        Task.objects.bulk_create(_task(attempt, dice.choice(workers), dice) for attempt in attempts)
        Event.objects.bulk_create(event for job in rows for event in _events(job))


def let_run(now: datetime) -> None:
    """What passes gave away is claimed and runs, as agents would report."""
    tasks = list(Task.objects.filter(state=TaskState.ASSIGNED).select_related("attempt__job"))
    attempts = list({task.attempt_id: task.attempt for task in tasks}.values())
    moved: dict[str, Any] = {"actor": "worker:bench", "now": now}
    TASK.move_all(tasks, TaskState.CLAIMED, frm=TaskState.ASSIGNED, claimed_at=now, **moved)
    TASK.move_all(tasks, TaskState.RUNNING, frm=TaskState.CLAIMED, started_at=now, **moved)
    ATTEMPT.move_all(attempts, AttemptState.RUNNING, frm=AttemptState.ASSIGNED, **moved)
    jobs = [attempt.job for attempt in attempts]
    JOB.move_all(jobs, JobState.RUNNING, frm=JobState.ASSIGNED, started_at=now, **moved)


def end_some(count: int, dice: Random, now: datetime) -> None:
    """So many of the jobs that run come to their end, one in ten of them with a failure."""
    running = list(Attempt.objects.filter(state=AttemptState.RUNNING).order_by("pk").values_list("pk", flat=True))
    drawn = dice.sample(running, min(count, len(running)))
    failing = len(drawn) // 10
    for attempts, state in ((drawn[:failing], "failed"), (drawn[failing:], "succeeded")):
        tasks = list(Task.objects.filter(attempt__in=attempts).select_related("attempt__job"))
        rows = list({task.attempt_id: task.attempt for task in tasks}.values())
        how: dict[str, Any] = {"frm": "running", "actor": "worker:bench", "now": now}
        code = int(state == "failed")
        TASK.move_all(tasks, TaskState(state), finished_at=now, exit_code=code, **how)
        ATTEMPT.move_all(rows, AttemptState(state), active=False, ended_at=now, **how)
        jobs = [row.job for row in rows]
        JOB.move_all(jobs, JobState(state), finished_at=now, exit_code=code, **how)
        release(tasks, now=now)


def remember_decisions() -> None:
    """What is over keeps a decision of its own: each like one that a pass really made."""
    models = list(Decision.objects.filter(outcome="placed").order_by("pk")[:200])
    without = Job.objects.filter(decision=None, finished_at__isnull=False, started_at__isnull=False)
    decided = (
        Decision(
            job=job, pass_row_id=like.pass_row_id, position=like.position, outcome=like.outcome, kept=Kept.FIRST,
            fingerprint=like.fingerprint, digest=like.digest, summary=like.summary, made_at=job.submitted_at,
            seen_at=job.submitted_at,
        )
        for number, job in enumerate(without.only("pk", "submitted_at"))
        for like in (models[number % len(models)],)
    )  # fmt: skip
    for some in _in_parts(decided):
        Decision.objects.bulk_create(some)
    latest = Decision.objects.filter(job=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    without.update(decision=Subquery(latest))


def _job(spec: dict[str, Any], owner: User, teams: dict[int, Any], at: datetime, dice: Random) -> Job:
    ran = timedelta(minutes=1 + dice.expovariate(1 / 90))
    state = dice.choice(ENDS)
    return Job(
        owner=owner, team=teams[owner.pk] if dice.random() < 0.5 else None, spec=spec,
        name=f"{spec['name']}-{dice.randrange(999)}", submitted_at=at, state=state,
        started_at=at + timedelta(seconds=min(7_000, dice.expovariate(1 / 600))),
        finished_at=at + timedelta(hours=2) + ran, state_since=at + timedelta(hours=2) + ran,
        exit_code=0 if state == "succeeded" else 1, failure_code="exit_code" if state == "failed" else "",
    )  # fmt: skip


def _attempts(jobs: Sequence[Job]) -> Iterator[Attempt]:
    for job, fence in zip(jobs, draw_fences(len(jobs)), strict=True):
        yield Attempt(
            job=job, number=1, fence=fence, state=job.state, active=False, ended_at=job.finished_at,
            created_at=job.started_at or job.submitted_at,
        )  # fmt: skip


def _task(attempt: Attempt, worker: Worker, dice: Random) -> Task:
    job = attempt.job
    return Task(
        attempt=attempt, worker=worker, devices=[dice.randrange(4)], state=job.state, state_since=job.state_since,
        claimed_at=job.started_at, started_at=job.started_at, finished_at=job.finished_at, released_at=job.finished_at,
        exit_code=job.exit_code, log_size=0,
    )  # fmt: skip


def _events(job: Job) -> Iterator[Event]:
    moves = (
        (job.submitted_at, "", "queued"), (job.started_at, "queued", "assigned"),
        (job.started_at, "assigned", "running"), (job.finished_at, "running", job.state),
    )  # fmt: skip
    for at, before, after in moves:
        yield Event(
            at=at or job.submitted_at, actor="scheduler", subject_kind="job", subject=job.job_id, verb="state",
            before=before, after=after,
        )  # fmt: skip


def _in_parts(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while some := list(islice(rows, AT_ONCE)):
        yield some
