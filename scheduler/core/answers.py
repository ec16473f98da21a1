"""The leading sentence of a decision that placed a job or lets it wait: where and why there, or for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.core.decision import CandidateGroup, SchedulingDecision, TierStatus, Verdict
from scheduler.core.labels import code_label
from scheduler.core.quantities import cores, size
from scheduler.core.reasons import ORDER, Code, GroupReason, Kind
from scheduler.core.sentences import sentence
from scheduler.core.spec import JobSpec, Policy, QueueEntry
from scheduler.core.words import Clock, agrees, counted, devices, in_utc, names

Groups = Sequence[CandidateGroup]

DEVICES_NOW = frozenset(code for code in Code if code.text.startswith("gpu_") and code.kind is Kind.AVAILABILITY)
FEW = 32
"""Up to so many workers are looked at one by one to name the closest."""


@dataclass(frozen=True, slots=True)
class Said:
    """A leading clause, without the state that it follows; what else there is to say; the same in a few words."""

    lead: str
    more: tuple[str, ...] = ()
    short: str = ""


def capital(text: str) -> str:
    """A clause as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def workers_in(groups: Groups) -> int:
    """How many workers the groups hold."""
    return sum(len(group.workers) for group in groups)


def place_of(decision: SchedulingDecision) -> str:
    """`gpu-007, devices 0 and 1`; of a gang its workers."""
    first, *rest = decision.assignments
    if rest:
        return f"{counted(len(rest) + 1, 'worker')} ({names(task.worker for task in decision.assignments)})"
    return f"{first.worker}, {devices(first.devices)}" if first.devices else first.worker


def why_there(entry: QueueEntry, decision: SchedulingDecision) -> Said:
    """Why the chosen worker and no other: the policy's order among those that were free."""
    spec, counts = entry.spec, decision.counts()
    free = counts[Verdict.SELECTED] + counts[Verdict.ELIGIBLE]
    fit = free + counts[Verdict.UNAVAILABLE]
    could = f"{counted(fit, 'worker')} could run it, {free:,} {agrees(free, 'was', 'were')} free."
    tier = next((tier.name for tier in decision.tiers if tier.status is TierStatus.PLACED), "")
    some = f"{free:,} free workers" if len(spec.tiers) == 1 else f"the free {tier} workers"
    if spec.distributed:
        return Said(f"the first of one torch version among {some}", (could,), "the first of one torch version")
    if free == 1:
        return Said("the only worker that could take it", (could,), "the only one free")
    if spec.policy is Policy.FIRST_FIT:
        order = "first_fit takes free workers in the order of their ids."
        return Said(f"the lowest id of {some}", (f"{could} {order}",), f"lowest id of {free:,} free")
    key = decision.candidate(decision.assignments[0].worker).key or (None,)
    most = f" ({size(key[0])})" if isinstance(key[0], int) else ""
    order = "most_free_memory takes the one with the most, then the lowest id; unknown comes last."
    short = f"most free memory of {free:,} free"
    return Said(f"the most free memory{most} of {some}", (f"{could} {order}",), short)


def what_it_waits_for(
    entry: QueueEntry, decision: SchedulingDecision, *, clock: Clock = in_utc, closely: bool = False
) -> Said:
    """Why none of the workers that can run it takes it now; `closely`: and how close the closest is."""
    groups = open_groups(decision)
    if entry.spec.distributed and decision.group_reasons:
        return _gang_waits(decision.group_reasons)
    fit = workers_in(groups)
    if fit == 0:
        return Said("no worker of an open target can take it now", (), "no open target can take it")
    obstacle, first = _obstacle(groups), f"What stands in the way first: {_tally(groups)}."
    if fit == 1:
        only = next(worker for group in groups for worker in group.workers)
        more = tuple(capital(text) for text in _sentences(only, decision, clock)) if closely else (first,)
        return Said(f"only {only} can run this job, and it is not free now", more, f"only {only} fits: {obstacle}")
    near = (_nearest(groups, decision, clock),) if closely else ()
    lead = f"{fit:,} workers can run this job, none {_lacking(groups, entry.spec) or 'is free'} now"
    return Said(lead, (*near, first), f"{fit:,} fit, none free: {obstacle}")


def open_groups(decision: SchedulingDecision) -> list[CandidateGroup]:
    """The groups that can run the job, in targets that are open."""
    return [
        group
        for group in decision.groups()
        if group.verdict is not Verdict.INCOMPATIBLE and Code.TIER_CLOSED not in group.codes
    ]


def _gang_waits(reasons: tuple[GroupReason, ...]) -> Said:
    best = max(reasons, key=lambda reason: reason.free)
    version = f" with torch {best.torch}" if best.torch else ""
    lead = f"{best.free:,} of {best.needed:,} workers{version} are free, and a gang starts complete or not at all"
    return Said(lead, (), f"gang: {best.free:,} of {best.needed:,} workers free")


def _obstacle(groups: Groups) -> str:
    """The cause that is first for most workers, by its name."""
    tally = _first_codes(groups)
    return code_label(max(tally, key=lambda code: (tally[code], -ORDER[code])))


def _tally(groups: Groups) -> str:
    tally = _first_codes(groups)
    return ", ".join(f"{tally[code]:,} {code_label(code)}" for code in sorted(tally, key=ORDER.__getitem__))


def _first_codes(groups: Groups) -> Counter[Code]:
    tally: Counter[Code] = Counter()
    for group in groups:
        if group.codes:
            tally[group.codes[0]] += len(group.workers)
    return tally


def _sentences(worker: str, decision: SchedulingDecision, clock: Clock) -> list[str]:
    return [sentence(reason, clock=clock) for reason in decision.candidate(worker).reasons]


def _nearest(groups: Groups, decision: SchedulingDecision, clock: Clock) -> str:
    """The worker with the fewest obstacles, then the most free devices, as far as not too many must be looked at."""
    fewest = min(len(group.codes) for group in groups)
    nearest = [worker for group in groups if len(group.codes) == fewest for worker in group.workers]

    def free_devices(worker: str) -> int:
        return max((reason.have or 0 for reason in decision.candidate(worker).reasons), default=0)

    closest = max(sorted(nearest)[:FEW], key=free_devices)
    is_it = "Closest is" if len(nearest) <= FEW else "One of the closest is"
    return f"{is_it} {closest}: {'; '.join(_sentences(closest, decision, clock))}."


def _lacking(groups: Groups, spec: JobSpec) -> str | None:
    """What every one of these workers lacks at the moment, where it is one thing: `has 8 free GPUs`."""
    if all(DEVICES_NOW.intersection(group.codes) for group in groups):
        return f"has {counted(spec.resources.gpus, 'free GPU')}"
    shared = frozenset(Code).intersection(*(group.codes for group in groups))
    return _now(min(shared, key=ORDER.__getitem__), spec) if shared else None


def _now(code: Code, spec: JobSpec) -> str:
    asked = spec.resources
    return {
        Code.OFFLINE: "is online",
        Code.DRAINING: "takes new jobs",
        Code.UNHEALTHY: "is healthy",
        Code.RESERVED_UNTIL: "is free of reservations for others",
        Code.RESERVED_FROM: "is free of others' reservations for as long as it may run",
        Code.NOT_RESERVED: "is reserved for it",
        Code.FAILED_HERE: "is new to this job",
        Code.SLOTS: "has a free task slot",
        Code.CPU_IN_USE: f"has {cores(asked.cpu_millicores or 0)} CPU cores left",
        Code.MEMORY_IN_USE: f"has {size(asked.memory_bytes or 0)} of RAM left",
        Code.DISK_IN_USE: f"has {size(asked.disk_bytes or 0)} of disk left",
    }.get(code, "is free")
