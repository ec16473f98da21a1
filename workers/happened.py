"""What lately became of a worker, in a few words each, from its trail of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from workers.models import Event

MOST = 8
VERBS = ("liveness", "intent", "limits", "health", "device health", "stray", "offered", "accepted", "machine_conflict")
"""What people want to know of; registrations and the like are the agent's daily bread."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One event: when, what, and why or by whom where that is told."""

    at: datetime
    what: str
    why: str


def lately(worker: str, as_told: Callable[[str], str]) -> list[Happened]:
    """The last few, the latest first. One query; `as_told` makes of a sentence what the reader may know of it."""
    told = Event.objects.filter(subject_kind="worker", subject=worker, verb__in=VERBS).order_by("-id")[:MOST]
    return [Happened(event.at, as_told(_what(event)), as_told(_why(event))) for event in told]


def _what(event: Event) -> str:
    if event.verb == "stray":
        return event.cause
    if event.verb == "offered":
        return "reads less than it had"
    if event.verb == "accepted":
        return "has less from now on"
    if event.verb == "machine_conflict":
        return "another machine used its credential"
    if event.verb == "limits":
        return f"limits: {event.before} → {event.after}"
    if event.before == event.after:
        return f"{event.after} again, with another reason or deadline"
    subject = f"device {event.detail.get('device')}: " if event.verb == "device health" else ""
    return f"{subject}{event.before or 'unknown'} → {event.after}"


def _why(event: Event) -> str:
    by = f"by {event.actor.partition(':')[2]}" if event.actor.startswith("user:") else ""
    cause = "" if event.verb in ("stray", "offered", "accepted", "machine_conflict") else event.cause
    less = "; ".join(str(line) for line in event.detail.get("less", ()))
    return "; ".join(filter(None, (cause, less, by)))
