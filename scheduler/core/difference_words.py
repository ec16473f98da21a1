"""How a candidate's change is told: what became of it, and through what."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler.core.decision import Candidate, Verdict
from scheduler.core.fleet import TaskLoad, WorkerView
from scheduler.core.reasons import Code, Reason
from scheduler.core.sentences import sentence
from scheduler.core.words import Clock, agrees, devices, holders

_ABLE = (Verdict.SELECTED, Verdict.ELIGIBLE)
_HELD = frozenset((Code.SLOTS, Code.CPU_IN_USE, Code.MEMORY_IN_USE, Code.DISK_IN_USE, Code.GPU_IN_USE))
"""What tasks hold and release."""


def became(worker: str, before: Candidate | None, after: Candidate | None) -> str:
    """`gpu-019 came free`."""
    if before is None:
        return f"{worker} joined the fleet"
    if after is None:
        return f"{worker} left the fleet"
    was, now = before.verdict, after.verdict
    if now is Verdict.SELECTED:
        return f"{worker} {'was chosen' if was in _ABLE else 'came free and was chosen'}"
    if now is Verdict.ELIGIBLE:
        return f"{worker} {'is free, not chosen any more' if was in _ABLE else 'came free'}"
    if now is was:
        return f"{worker} {'still cannot ever run it' if now is Verdict.INCOMPATIBLE else 'is still not free'}"
    if now is Verdict.INCOMPATIBLE:
        return f"{worker} can no longer run it"
    return f"{worker} {'is no longer free' if was in _ABLE else 'can run it now, but is not free'}"


def causes(
    before: Candidate | None,
    after: Candidate | None,
    view_before: WorkerView | None,
    view_after: WorkerView | None,
    clock: Clock,
) -> tuple[str, ...]:
    """Through what; empty where a worker came or went, or only the choice fell on another."""
    if before is None or after is None:
        return ()
    was, now = _by_code(before), _by_code(after)
    gone = [reason for code, reason in was.items() if code not in now]
    new = [reason for code, reason in now.items() if code not in was]
    told = [*_tasks(view_before, view_after)] if _HELD.intersection({*was, *now} - ({*was} & {*now})) else []
    told += [_gone(reason, bool(told), clock) for reason in gone]
    told += [_new(reason, bool(told), clock) for reason in new]
    return tuple(dict.fromkeys(text for text in told if text))


def _by_code(candidate: Candidate) -> dict[Code, Reason]:
    return {reason.code: reason for reason in candidate.reasons}


def _tasks(before: WorkerView | None, after: WorkerView | None) -> Iterator[str]:
    """Which tasks ended and which began in between."""
    if before is None or after is None:
        return
    for task in before.tasks:
        if task not in after.tasks:
            yield f"{task.job_id} released {_held(task)}"
    for task in after.tasks:
        if task not in before.tasks:
            yield f"{task.job_id} took {_held(task)}"


def _held(task: TaskLoad) -> str:
    return devices(task.devices) if task.devices else "its place"


def _gone(reason: Reason, tasks_told: bool, clock: Clock) -> str:
    if reason.code in _HELD and tasks_told:
        return ""
    ended = _ENDED.get(reason.code)
    return ended(reason) if ended else f"no longer: {sentence(reason, clock=clock)}"


def _reservation_ended(reason: Reason) -> str:
    return f"the reservation for {holders(reason.holders)} ended"


def _devices_are(what: str) -> Callable[[Reason], str]:
    return lambda reason: f"{devices(reason.devices)} {agrees(len(reason.devices), 'is', 'are')} {what}"


_ENDED: dict[Code, Callable[[Reason], str]] = {
    Code.OFFLINE: lambda reason: "it is back online",
    Code.DRAINING: lambda reason: "it takes new jobs again",
    Code.UNHEALTHY: lambda reason: "it is healthy again",
    Code.RESERVED: _reservation_ended,
    Code.RESERVED_UNTIL: _reservation_ended,
    Code.RESERVED_FROM: lambda reason: f"no reservation for {holders(reason.holders)} is in the way any more",
    Code.NOT_RESERVED: lambda reason: "it is reserved for the job now",
    Code.TIER_CLOSED: lambda reason: "its target is open now",
    Code.FAILED_HERE: lambda reason: "the job has nowhere else to go",
    Code.GPU_UNHEALTHY: _devices_are("healthy again, or not needed"),
    Code.GPU_RESERVED: _devices_are("no longer kept for others, or not needed"),
    Code.GPU_RESERVED_FROM: _devices_are("not to be kept for others any more, or not needed"),
    Code.GPU_NOT_RESERVED: _devices_are("reserved for the job now, or not needed"),
    Code.GPU_FOREIGN: _devices_are("no longer used outside gpulayer, or not needed"),
}


def _new(reason: Reason, tasks_told: bool, clock: Clock) -> str:
    return "" if tasks_told and reason.code in _HELD else sentence(reason, clock=clock)
