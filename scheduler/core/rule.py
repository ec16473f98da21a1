"""The rule as it reads: ask everything of everyone, then choose. The one definition of every decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from scheduler.core.availability import Setting
from scheduler.core.capability_matrix import newer_than_the_table
from scheduler.core.capability_software import torch_of
from scheduler.core.decision import Assignment, Candidate, Listed, SchedulingDecision
from scheduler.core.devices import pick_devices
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.gang import Version
from scheduler.core.notes import Names, notes
from scheduler.core.policies import best_first, policy_key
from scheduler.core.spec import Origin, QueueEntry
from scheduler.core.tiers import avoided_workers, choose, closed_tiers, could_ever
from scheduler.core.windows import seen_at


def decide(entry: QueueEntry, fleet: Iterable[WorkerView], at: datetime | None = None) -> SchedulingDecision:
    """Decide one job against these workers, whose order doesn't matter; nothing is changed.

    `at` is the instant from which upcoming reservations are looked at.
    """
    workers = sorted(seen_at(fleet, at), key=lambda worker: worker.id)
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
        notes=notes(entry.spec, Names(worker.facts for worker in workers), _newer(entry, able)),
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


def _newer(entry: QueueEntry, able: Iterable[WorkerView]) -> Iterator[str]:
    for worker in able:
        yield from newer_than_the_table(entry.spec, worker.facts)


def _version(entry: QueueEntry, worker: WorkerView) -> Version:
    return torch_of(worker.facts, entry.spec.runtime.environment) if entry.spec.distributed else None


def _counts(entry: QueueEntry, workers: Iterable[WorkerView]) -> dict[Origin, dict[Version, int]]:
    counts: dict[Origin, dict[Version, int]] = {tier: {} for tier in entry.spec.tiers}
    for worker in workers:
        versions = counts[worker.facts.origin]
        version = _version(entry, worker)
        versions[version] = versions.get(version, 0) + 1
    return counts
