"""Sentences about what stands in the way now."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.core.quantities import cores, sizes
from scheduler.core.reasons import Code, Reason
from scheduler.core.words import (
    Clock,
    Words,
    agrees,
    lasting,
    names,
    number,
    part,
    reserved_ahead,
    reserved_for,
)


def _state(what: str) -> Words:
    """`draining since 13:20 (kernel update)`."""

    def say(reason: Reason, clock: Clock) -> str:
        since = f" since {clock(reason.since)}" if reason.since else ""
        return f"{what}{since}{f' ({reason.actual})' if reason.actual else ''}"

    return say


def _reserved_from(reason: Reason, clock: Clock) -> str:
    """`reserved for mira from 18:00; this job fits before if its limit, now 5 h, is at most 3 h 20 min`."""
    kept, limited = reserved_ahead(reason, clock), isinstance(reason.required, int)
    if not isinstance(reason.enough_at, int):
        return f"{kept}, and nothing can be over before"
    most = f"{lasting(reason.enough_at)} ({reason.field}: {reason.enough_at})"
    if limited:
        return f"{kept}; this job fits before if its limit, now {lasting(number(reason.required))}, is at most {most}"
    return f"{kept}; this job has no time limit and could run into it: with one of at most {most} it fits before"


def _not_reserved(reason: Reason, clock: Clock) -> str:
    begins = f"; that begins at {clock(reason.since)}" if reason.since else ""
    return f"not reserved for this job, which waits for its own reservation (placement.reserved_only){begins}"


def _failed_here(reason: Reason, clock: Clock) -> str:
    return "this job failed here before, and another compatible worker exists"


def _slots(reason: Reason, clock: Clock) -> str:
    slots = number(reason.actual)
    free = f"; {part(reason.have, reason.of)} GPUs {agrees(reason.have or 0, 'is', 'are')} free" if reason.of else ""
    if not slots:
        return f"takes no tasks: max_concurrent_tasks is 0{free}"
    taken = "its only task slot is" if slots == 1 else f"all {slots:,} task slots are"
    by = f" by {names(reason.holders)}" if reason.holders else ""
    raised = "" if reason.of and not reason.have else "; max_concurrent_tasks is the number to raise"
    return f"{taken} taken{by}{free}{raised}"


def _tier_closed(reason: Reason, clock: Clock) -> str:
    return (
        f"{reason.actual} is closed: an earlier target could run this job later;"
        f" fallback_when: unavailable would open it now"
    )


def _left(what: Callable[[Reason], tuple[str, str]]) -> Words:
    """`needs 64 GB of RAM, 12.5 GB are left: the rest is promised to other tasks (j-12)`."""

    def say(reason: Reason, clock: Clock) -> str:
        needed, left = what(reason)
        by = f" ({names(reason.holders)})" if reason.holders else ""
        return f"needs {needed}, {left} left: the rest is promised to other tasks{by}"

    return say


def _cores_left(reason: Reason) -> tuple[str, str]:
    needed, left = number(reason.required), max(0, number(reason.actual))
    return f"{cores(needed)} CPU {'core' if needed == 1000 else 'cores'}", cores(left)


def _size_left(what: str) -> Callable[[Reason], tuple[str, str]]:
    def sides(reason: Reason) -> tuple[str, str]:
        needed, left = sizes(number(reason.required), max(0, number(reason.actual)))
        return f"{needed} of {what}", left

    return sides


SENTENCES: dict[Code, Words] = {
    Code.OFFLINE: _state("offline"),
    Code.DRAINING: _state("draining"),
    Code.UNHEALTHY: _state("unhealthy"),
    Code.RESERVED_UNTIL: reserved_for,
    Code.RESERVED_FROM: _reserved_from,
    Code.NOT_RESERVED: _not_reserved,
    Code.FAILED_HERE: _failed_here,
    Code.SLOTS: _slots,
    Code.TIER_CLOSED: _tier_closed,
    Code.CPU_IN_USE: _left(_cores_left),
    Code.MEMORY_IN_USE: _left(_size_left("RAM")),
    Code.DISK_IN_USE: _left(_size_left("disk")),
}
