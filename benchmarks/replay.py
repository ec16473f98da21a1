"""A fleet kept busy: jobs come, real passes place them, and they run to their end.

Workers are as good as alive all the time: heartbeats that say nothing new alter nothing that a pass writes down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from random import Random
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat

from scheduler.core.codec import job_to_document
from scheduler.core.parsing import parse_job
from scheduler.models import AttemptState, Job, JobState, SchedulingPass, Task, TaskState
from scheduler.services import holding
from scheduler.services.attempts import claim, finish, release, started
from scheduler.services.jobs import cancel_job
from scheduler.services.machines import ATTEMPT, JOB, TASK
from scheduler.services.passes import run_pass
from scheduler.services.phases import Phases
from scheduler.services.reports import FinishReport
from workers.auth import create_enrolment_token, hashed
from workers.models import Credential, Worker
from workers.services import Newcomer, Registration, Session, enrol, register

Document = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 1_000
"""Rows in one transaction or call."""
FOR_EVER = timedelta(days=365)


class Replay:
    """One fleet, and a queue that never runs dry."""

    def __init__(
        self, workers: Sequence[Document], jobs: Sequence[Document], *, waiting: int, seed: int, now: datetime = START
    ) -> None:
        self.now = now
        self.phases: list[Phases] = []
        self.starts = self.finishes = self.made = 0
        self._waiting = waiting
        self._at_once = len(workers)
        self._dice = Random(seed)
        self._specs = cycle([job["spec"] for job in jobs])
        self.owner = User.objects.create(username="bench")
        self._running: list[list[Task]] = []
        self._last_task = 0
        self._credential = self._let_in(workers)
        self.register(workers)

    def fill(self) -> None:
        """Give the fleet work until as many jobs wait as shall."""
        while (missing := self._missing()) > 0:
            self.submit(max(missing, self._at_once))
            self.wait()
            self.decide()
        for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk")[self._waiting :]:
            cancel_job(job=job, actor="user:bench", now=self.now)
        self.phases.clear()
        self.starts = self.finishes = self.made = 0

    @property
    def running(self) -> int:
        """Jobs that hold something."""
        return len(self._running)

    def wait(self, *, seconds: float = 2) -> datetime:
        """Time goes by; returns what it is then."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def turn_over(self, *, finishing: int) -> None:
        """So many jobs end, and as many come as are missing in the queue."""
        self._end(finishing)
        self.submit(self._missing())

    def decide(self, *, keep_never: bool = False) -> SchedulingPass | None:
        """One pass at this moment; jobs that can never run are then taken back by their owner, or wait on."""
        phases = Phases()
        row = run_pass(now=self.now, holder="bench", phases=phases)
        self.phases.append(phases)
        if row:
            self.made += row.considered
            self._notice_starts()
        if keep_never:
            return row
        for job in Job.objects.filter(state=JobState.QUEUED, decision__outcome="unschedulable"):
            cancel_job(job=job, actor="user:bench", now=self.now)
        return row

    def submit(self, count: int) -> None:
        """So many jobs come."""
        self.submit_as(self.owner, None, list(islice(self._specs, max(0, count))))

    def submit_as(self, owner: User, team: Group | None, specs: Sequence[Document]) -> None:
        """These come, as rows that submitting them one by one would make, in a tenth of the time."""
        numbered(
            [
                Job(
                    owner=owner, team=team, name=spec["name"], spec=job_to_document(parse_job(spec)),
                    submitted_at=self.now, state_since=self.now,
                )
                for spec in specs
            ]
        )  # fmt: skip

    def end_one(self, *, exit_code: int = 0) -> None:
        """One job, drawn by lot, runs to its end as its agents report it: claimed, started, finished, released."""
        tasks = self._drawn()
        report = FinishReport(exit_code=exit_code, duration_ms=60_000)
        with transaction.atomic():
            calls = [self._call_about(task) for task in tasks]
            for call in calls:
                claim(**call)
            for call in calls:
                started(**call, pid=1, workdir="")
            for call in calls:
                finish(**call, report=report)
                release(**call)
        self.finishes += 1

    def _end(self, count: int) -> None:
        """So many jobs run to their end, in the states that reports would bring them to, and a tenth of the time."""
        ending = [self._drawn() for _ in range(min(count, len(self._running)))]
        tasks = [task for of_one in ending for task in of_one]
        attempts = {task.attempt_id: task.attempt for task in tasks}.values()
        jobs = [attempt.job for attempt in attempts]
        moved: dict[str, Any] = {"actor": "worker:bench", "now": self.now}
        with transaction.atomic():
            TASK.move_all(tasks, TaskState.CLAIMED, frm=TaskState.ASSIGNED, claimed_at=self.now, **moved)
            TASK.move_all(tasks, TaskState.RUNNING, frm=TaskState.CLAIMED, started_at=self.now, **moved)
            ATTEMPT.move_all(attempts, AttemptState.RUNNING, frm=AttemptState.ASSIGNED, **moved)
            JOB.move_all(jobs, JobState.RUNNING, frm=JobState.ASSIGNED, started_at=self.now, **moved)
            over: dict[str, Any] = {"frm": "running", **moved}
            TASK.move_all(tasks, TaskState.SUCCEEDED, finished_at=self.now, exit_code=0, **over)
            ATTEMPT.move_all(attempts, AttemptState.SUCCEEDED, active=False, ended_at=self.now, **over)
            JOB.move_all(jobs, JobState.SUCCEEDED, finished_at=self.now, exit_code=0, **over)
            holding.release(tasks, now=self.now)
        self.finishes += len(ending)

    def _drawn(self) -> list[Task]:
        """A running job's tasks; it counts as running no longer."""
        which = self._dice.randrange(len(self._running))
        self._running[which], self._running[-1] = self._running[-1], self._running[which]
        return self._running.pop()

    def register(self, workers: Sequence[Document]) -> None:
        """These say what they are now."""
        for some in _in_parts(workers):
            registrations = [Registration(one["id"], "boot", (1,), {**one, "tasks": []}) for one in some]
            for result in register(credential=self._credential, registrations=registrations, now=self.now):
                if not isinstance(result, Session):
                    raise result
        Worker.objects.update(last_seen_at=self.now + FOR_EVER)
        self._epochs = dict(Worker.objects.values_list("pk", "epoch"))

    def _missing(self) -> int:
        return self._waiting - Job.objects.filter(state=JobState.QUEUED).count()

    def _notice_starts(self) -> None:
        placed: dict[int, list[Task]] = {}
        new = Task.objects.filter(pk__gt=self._last_task).select_related("attempt__job").order_by("pk")
        for task in new:
            placed.setdefault(task.attempt_id, []).append(task)
            self._last_task = task.pk
        self._running += placed.values()
        self.starts += len(placed)

    def _call_about(self, task: Task) -> dict[str, Any]:
        return {
            "credential": self._credential, "task_id": task.pk, "fence": task.attempt.fence,
            "epoch": self._epochs[task.worker_id], "now": self.now,
        }  # fmt: skip

    def _let_in(self, workers: Sequence[Document]) -> Credential:
        """Enrol them all with one credential, as a simulated fleet does."""
        _, token = create_enrolment_token(
            uses=len(workers), origin="", simulated=True, note="bench", created_by=self.owner, now=self.now
        )
        newcomers = [Newcomer(name=one["id"], origin=one["origin"], simulated=True) for one in workers]
        secret = enrol(
            token=token, newcomers=newcomers, machine_id="bench", protocols=[1], agent_version="0", now=self.now
        )
        return Credential.objects.get(hash=hashed(secret))


def numbered(jobs: list[Job]) -> list[Job]:
    """These jobs as rows, each called by its key."""
    for number, job in enumerate(jobs):
        job.job_id = f"new-{number}"
    with transaction.atomic():
        Job.objects.bulk_create(jobs, batch_size=MANY)
        called = Concat(Value("j-"), Cast("pk", CharField()))
        Job.objects.filter(job_id__startswith="new-").update(job_id=called)
    for job in jobs:
        job.job_id = f"j-{job.pk}"
    return jobs


def _in_parts(things: Sequence[Document]) -> Iterator[Sequence[Document]]:
    return (things[start : start + MANY] for start in range(0, len(things), MANY))
