"""Workers with what runs on them, as somebody may see it: of others' jobs it is only told that they are there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scheduler import occupancy
from scheduler.core.fleet import DeviceView, Fleet, Window, WorkerView
from scheduler.occupancy import TaskOn
from scheduler.services.visibility import SOMEBODY_ELSES, ids_in, seen_ids, sees_all, without_others

_JOB = "job:"


def views_of(names: Sequence[str], user: Any) -> Mapping[str, WorkerView]:
    """These workers as a pass would see them now, as this user may see them. One query more where jobs are hidden."""
    return {view.id: view for view in seen_by(user, occupancy.views_of(names).values())}


def seen_by(user: Any, views: Collection[WorkerView]) -> Collection[WorkerView]:
    """The same workers as this user may see them."""
    if sees_all(user):
        return views
    seen = seen_ids(user, (job_id for view in views for job_id in jobs_of(view)))
    return [as_seen(view, seen) for view in views]


def fleet_for(user: Any, fleet: Fleet) -> Fleet:
    """A whole fleet as this user may see it. One query where jobs are hidden."""
    return fleet if sees_all(user) else fleet_as_seen(fleet, seen_ids(user, jobs_in(fleet)))


def jobs_in(fleet: Fleet) -> frozenset[str]:
    """The ids of all jobs that its workers name."""
    return frozenset(job_id for view in fleet.workers for job_id in jobs_of(view)) - {SOMEBODY_ELSES}


def fleet_as_seen(fleet: Fleet, seen: frozenset[str]) -> Fleet:
    """A whole fleet with `SOMEBODY_ELSES` in place of every job that is not among those seen.

    What a job is called decides nothing: the same fits the same places.
    """
    return Fleet(
        tuple(view if seen.issuperset(jobs_of(view)) else as_seen(view, seen) for view in fleet.workers)
    )  # fmt: skip


def tasks_on(worker_id: int, user: Any = None) -> tuple[TaskOn, ...]:
    """The tasks that hold something of this worker, the oldest first; of others' neither id, name, owner nor limit.

    Without a user they are told whole: for pages that only operators see.
    """
    return tasks_on_each([worker_id], user).get(worker_id, ())


def tasks_on_each(workers: Collection[int], user: Any = None) -> Mapping[int, tuple[TaskOn, ...]]:
    """The same for each of these workers, by key. One query, and one more where jobs are hidden."""
    found = occupancy.tasks_on_each(workers)
    if user is None or sees_all(user):
        return found
    seen = seen_ids(user, (task.job_id for tasks in found.values() for task in tasks))
    return {worker: tuple(_task(task, seen) for task in tasks) for worker, tasks in found.items()}


def _task(task: TaskOn, seen: frozenset[str]) -> TaskOn:
    if task.job_id in seen:
        return task
    return replace(task, job_id="", name=SOMEBODY_ELSES, owner="", ends_by=None, hidden=True)


def as_seen(view: WorkerView, seen: frozenset[str]) -> WorkerView:
    """The worker with `SOMEBODY_ELSES` in place of every job that is not among those seen."""
    tasks = tuple(
        task if task.job_id in seen else replace(task, job_id=SOMEBODY_ELSES) for task in view.tasks
    )  # fmt: skip
    devices = view.facts.devices and tuple(_device(device, seen) for device in view.facts.devices)
    facts = replace(
        view.facts,
        devices=devices,
        reserved_for=_holder(view.facts.reserved_for, seen),
        upcoming=tuple(_window(window, seen) for window in view.facts.upcoming),
    )
    return replace(view, tasks=tasks, facts=facts, state_note=without_others(view.state_note, seen))


def _device(device: DeviceView, seen: frozenset[str]) -> DeviceView:
    holder = _holder(device.reserved_for, seen)
    return device if holder == device.reserved_for else replace(device, reserved_for=holder)


def _window(window: Window, seen: frozenset[str]) -> Window:
    return replace(window, holder=_holder(window.holder, seen) or window.holder)


def _holder(holder: str | None, seen: frozenset[str]) -> str | None:
    if holder is None or not holder.startswith(_JOB) or holder.removeprefix(_JOB) in seen:
        return holder
    return SOMEBODY_ELSES


def jobs_of(view: WorkerView) -> Iterable[str]:
    """The ids of the jobs that hold something of it, of those that it is or will be reserved for, and of those that
    its note names.
    """
    yield from (task.job_id for task in view.tasks)
    yield from ids_in(view.state_note)
    holders = (
        view.facts.reserved_for,
        *(device.reserved_for for device in view.facts.devices or ()),
        *(window.holder for window in view.facts.upcoming),
    )
    yield from (holder.removeprefix(_JOB) for holder in holders if holder is not None and holder.startswith(_JOB))
