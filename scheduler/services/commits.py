"""Writing plans down, batch by batch: each job whole, and nothing from a pass whose time is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Max

from scheduler.models import Attempt, DeviceHold, Event, Job, JobState, SchedulingPass, Task
from scheduler.services.decision_rows import write_decisions
from scheduler.services.holding import draw_fences
from scheduler.services.lease import Lease, renew
from scheduler.services.machines import JOB
from scheduler.services.plans import Act, Plan
from scheduler.snapshot import WorkerKey
from workers.models import Device, Worker

log = logging.getLogger(__name__)

ACTOR = "scheduler"
UNSCHEDULABLE = "unschedulable"


@dataclass(frozen=True, slots=True)
class Work:
    """What every batch of a pass shares."""

    lease: Lease
    pass_row: SchedulingPass
    keys: Mapping[str, WorkerKey]
    """Of every worker that the pass saw."""
    clock: Callable[[], datetime]

    @property
    def cause(self) -> str:
        """For events."""
        return str(self.pass_row)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of placements."""

    placed: int = 0
    refused: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.placed + other.placed, self.refused + other.refused)


@dataclass(frozen=True, slots=True)
class _Ground:
    """The chosen workers and their devices as they are now, locked."""

    workers: Mapping[int, Worker]
    devices: Mapping[tuple[int, int], int]


def commit(plans: Sequence[Plan], work: Work) -> Tally:
    """Write a batch in one transaction; if the database refuses one of its rows, each job by itself.

    Raises `StalePassError` when the lease has gone to another.
    """
    try:
        with transaction.atomic():
            return _commit(plans, work)
    except IntegrityError as error:
        if len(plans) > 1:
            return sum((commit([plan], work) for plan in plans), Tally())
        log.warning("%s: the placement of %s was refused by the database: %s", work.cause, plans[0].entry.job_id, error)
        return Tally(refused=1)


def _commit(plans: Sequence[Plan], work: Work) -> Tally:
    now = work.clock()
    renew(work.lease, now=now)
    queued = Job.objects.filter(pk__in=[plan.pk for plan in plans], state=JobState.QUEUED).order_by("pk")
    jobs = {job.pk: job for job in queued.select_for_update().only("job_id", "state")}
    there = [plan for plan in plans if plan.pk in jobs]
    ground = _ground(there, work)
    placements = [plan for plan in there if plan.act is Act.PLACE]
    refused = [plan for plan in placements if not _stands(plan, work, ground)]
    granted = [plan for plan in placements if _stands(plan, work, ground)]
    others = [plan for plan in there if plan.act is not Act.PLACE]
    for plan in refused:
        log.info("%s: %s was not placed, its workers have changed since", work.cause, plan.entry.job_id)
    _place(granted, jobs, work, ground, now)
    _give_up([plan for plan in others if plan.act is Act.FAIL], jobs, work, now)
    write_decisions([*granted, *others], pass_row=work.pass_row, now=now)
    return Tally(len(granted), len(refused))


def _ground(plans: Iterable[Plan], work: Work) -> _Ground:
    chosen = {work.keys[place.worker].pk for plan in plans for place in plan.assignments}
    if not chosen:
        return _Ground({}, {})
    locked = Worker.objects.select_for_update().filter(pk__in=chosen).order_by("pk")
    workers = {worker.pk: worker for worker in locked.only("name", "version", "simulated")}
    devices = Device.objects.filter(worker__in=chosen, present=True).values_list("worker_id", "index", "pk")
    return _Ground(workers, {(worker, index): pk for worker, index, pk in devices})


def _stands(plan: Plan, work: Work, ground: _Ground) -> bool:
    """Whether its workers are as the pass saw them, and its devices are there."""
    for place in plan.assignments:
        seen = work.keys[place.worker]
        worker = ground.workers.get(seen.pk)
        if worker is None or worker.version != seen.version:
            return False
        if any((seen.pk, index) not in ground.devices for index in place.devices):
            return False
    return True


def _place(plans: Sequence[Plan], jobs: Mapping[int, Job], work: Work, ground: _Ground, now: datetime) -> None:
    if not plans:
        return
    for simulated in (False, True):
        some = [jobs[plan.pk] for plan in plans if _is_simulated(plan, work, ground) is simulated]
        JOB.move_all(
            some, JobState.ASSIGNED, frm=JobState.QUEUED, actor=ACTOR, now=now, cause=work.cause, simulated=simulated
        )
    numbers = dict(
        Attempt.objects.filter(job__in=[plan.pk for plan in plans])
        .values_list("job_id")
        .annotate(Max("number"))
        .order_by()
    )
    attempts = Attempt.objects.bulk_create([
        Attempt(job_id=plan.pk, number=numbers.get(plan.pk, 0) + 1, fence=fence, created_at=now)
        for plan, fence in zip(plans, draw_fences(len(plans)), strict=True)
    ])  # fmt: skip
    tasks = Task.objects.bulk_create([
        task for plan, attempt in zip(plans, attempts, strict=True) for task in _tasks(plan, attempt, work, now)
    ])  # fmt: skip
    DeviceHold.objects.bulk_create([
        DeviceHold(task=task, worker_id=task.worker_id, device_id=ground.devices[task.worker_id, index])
        for task in tasks
        for index in task.devices
    ])  # fmt: skip
    Event.objects.bulk_create([_event(*pair, work, now) for pair in zip(plans, attempts, strict=True)])


def _is_simulated(plan: Plan, work: Work, ground: _Ground) -> bool:
    return any(ground.workers[work.keys[place.worker].pk].simulated for place in plan.assignments)


def _tasks(plan: Plan, attempt: Attempt, work: Work, now: datetime) -> Iterable[Task]:
    asked = plan.entry.spec.resources
    for place in plan.assignments:
        yield Task(
            attempt=attempt,
            rank=place.node_rank,
            worker_id=work.keys[place.worker].pk,
            devices=list(place.devices),
            cpu_millicores=asked.cpu_millicores or 0,
            memory_bytes=asked.memory_bytes or 0,
            disk_bytes=asked.disk_bytes or 0,
            state_since=now,
        )


def _event(plan: Plan, attempt: Attempt, work: Work, now: datetime) -> Event:
    return Event(
        at=now, actor=ACTOR, subject_kind="attempt", subject=str(attempt.pk), verb="created", after=attempt.state,
        cause=work.cause,
        detail={"job": plan.entry.job_id, "fence": attempt.fence, "assignments": plan.summary["assignments"]},
    )  # fmt: skip


def _give_up(plans: Sequence[Plan], jobs: Mapping[int, Job], work: Work, now: datetime) -> None:
    """End the jobs that no set of workers could ever run and that asked for this."""
    for plan in plans:
        JOB.move_all(
            [jobs[plan.pk]], JobState.FAILED, frm=JobState.QUEUED, actor=ACTOR, now=now, cause=work.cause,
            finished_at=now, failure_code=UNSCHEDULABLE, failure_text=plan.summary["answer"]["lead"],
        )  # fmt: skip
