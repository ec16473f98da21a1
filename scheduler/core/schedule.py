"""Where a job runs, or why not: pure functions of the job and the fleet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from scheduler.core.availability import Setting
from scheduler.core.capability_software import torch_of
from scheduler.core.decision import Assignment, Candidate, Listed, SchedulingDecision
from scheduler.core.devices import load_of, pick_devices
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.gang import Version
from scheduler.core.notes import Names, notes
from scheduler.core.policies import best_first, policy_key
from scheduler.core.spec import JobSpec, Origin, QueueEntry
from scheduler.core.tiers import avoided_workers, choose, closed_tiers, could_ever

Workers = Fleet | Iterable[WorkerView]


@dataclass(frozen=True, slots=True)
class PassResult:
    """One job's decision and its place in the pass."""

    position: int
    entry: QueueEntry
    decision: SchedulingDecision


def schedule(spec: QueueEntry | JobSpec, workers: Workers, job_id: str) -> SchedulingDecision:
    """Decide one job against these workers, whose order doesn't matter; nothing is changed."""
    entry = replace(spec, job_id=job_id) if isinstance(spec, QueueEntry) else QueueEntry(job_id=job_id, spec=spec)
    return decide(entry, _sorted(workers))


def ever_schedulable(spec: QueueEntry | JobSpec, workers: Workers, job_id: str) -> bool:
    """Whether some set of these workers could run the job, whatever their availability."""
    return schedule(spec, workers, job_id).ever_schedulable


def run_pass(queue: Iterable[QueueEntry], workers: Workers) -> Iterator[PassResult]:
    """Decide a queue, first in, first out; what one job is given is gone for those behind it."""
    fleet = {worker.id: worker for worker in _sorted(workers)}
    for position, entry in enumerate(in_order_of_submission(queue)):
        decision = decide(entry, tuple(fleet.values()))
        for place in decision.assignments:
            fleet[place.worker] = fleet[place.worker].holding(load_of(entry, place.devices))
        yield PassResult(position, entry, decision)


def in_order_of_submission(queue: Iterable[QueueEntry]) -> tuple[QueueEntry, ...]:
    """By submission, then job id; as listed where one of them doesn't say when it was submitted."""
    entries = tuple(queue)
    if any(entry.submitted_at is None for entry in entries):
        return entries
    return tuple(sorted(entries, key=lambda entry: (_instant(entry.submitted_at), entry.job_id)))


def _instant(submitted_at: str | float | None) -> float:
    if isinstance(submitted_at, str):
        instant = datetime.fromisoformat(submitted_at)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    return submitted_at or 0.0


def decide(entry: QueueEntry, workers: tuple[WorkerView, ...]) -> SchedulingDecision:
    """The rule as it reads, over workers sorted by id: ask everything of everyone, then choose."""
    never = {worker.id: compatibility_reasons(entry, worker) for worker in workers}
    able = [worker for worker in workers if not never[worker.id]]
    compatible = _counts(entry, able)
    closed = closed_tiers(entry, compatible)
    fresh = _counts(entry, [worker for worker in able if worker.id not in entry.failed_on])
    setting = Setting(closed=closed, avoided=avoided_workers(entry, fresh, closed))
    not_now = {worker.id: availability_reasons(entry, worker, setting) for worker in able}
    eligible = [worker for worker in able if not not_now[worker.id]]
    keys = {worker.id: policy_key(entry, worker) for worker in eligible}
    eligible.sort(key=lambda worker: best_first(keys[worker.id]))

    def walk(tier: Origin) -> Iterator[tuple[WorkerView, Version]]:
        return ((worker, _version(entry, worker)) for worker in eligible if worker.facts.origin is tier)

    choice = choose(entry, compatible, closed, walk)
    chosen = {worker.id for worker in choice.chosen}
    return SchedulingDecision(
        job_id=entry.job_id,
        policy=entry.spec.policy,
        tiers=choice.tiers,
        assignments=tuple(
            Assignment(worker=worker.id, node_rank=rank, devices=pick_devices(entry, worker))
            for rank, worker in enumerate(choice.chosen)
        ),
        group_reasons=choice.group_reasons,
        notes=notes(entry.spec, Names(workers)),
        ever_schedulable=could_ever(entry, compatible),
        evidence=Listed(
            Candidate(
                worker=worker.id,
                reasons=never[worker.id] or not_now[worker.id],
                selected=worker.id in chosen,
                key=keys.get(worker.id),
            )
            for worker in workers
        ),
    )


def _version(entry: QueueEntry, worker: WorkerView) -> Version:
    return torch_of(worker.facts, entry.spec.runtime.environment) if entry.spec.distributed else None


def _counts(entry: QueueEntry, workers: Iterable[WorkerView]) -> dict[Origin, dict[Version, int]]:
    counts: dict[Origin, dict[Version, int]] = {tier: {} for tier in entry.spec.tiers}
    for worker in workers:
        versions = counts[worker.facts.origin]
        version = _version(entry, worker)
        versions[version] = versions.get(version, 0) + 1
    return counts


def _sorted(workers: Workers) -> tuple[WorkerView, ...]:
    listed = workers.workers if isinstance(workers, Fleet) else tuple(workers)
    return tuple(sorted(listed, key=lambda worker: worker.id))
